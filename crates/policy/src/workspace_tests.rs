use super::*;
use crate::fixture::Machine;
use bailiwick_event::Failure;

fn refused(machine: &Machine) -> String {
    match Failure::from(machine.try_load().unwrap_err()) {
        Failure::Refused(refused) => {
            assert_eq!(refused.rule.id, "workspace.too-wide");
            refused.resource
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_workspace_that_is_too_wide_is_refused() {
    for (wide, why) in [
        ("~/", "the home directory"),
        ("/", "the root"),
        ("~/..", "contains the home directory"),
        ("~/.config", "the user's policy"),
    ] {
        let mut machine = Machine::new().user("");
        machine.request.workspace = machine.path(wide);
        let said = refused(&machine);
        assert!(said.contains(why), "{wide}: {said}");
        machine.request.allow_wide_workspace = true;
        assert!(machine.try_load().is_ok(), "{wide}");
    }
}

#[test]
fn a_link_to_the_home_directory_is_the_home_directory() {
    let mut machine = Machine::new();
    let link = machine.root().join("link");
    std::os::unix::fs::symlink(&machine.request.home, &link).unwrap();
    machine.request.workspace = link;
    assert!(refused(&machine).contains("the home directory"));
}

#[test]
fn a_workspace_that_would_hold_the_trust_store_is_refused_before_it_exists() {
    let mut machine = Machine::new();
    machine.request.trust_file = machine.path("state/bailiwick/trust.json");
    assert!(refused(&machine).contains("the trust store"));
}

#[test]
fn a_workspace_in_a_folder_of_the_products_own_files_is_refused_and_none_beside_it() {
    let mut machine = Machine::new()
        .user("")
        .file("~/.config/bailiwick/a/x", "")
        .file("~/.config/other/x", "");
    machine.request.allow_wide_workspace = true;
    for own in ["~/.config/bailiwick", "~/.config/bailiwick/a"] {
        machine.request.workspace = machine.path(own);
        let failure = Failure::from(machine.try_load().unwrap_err());
        assert!(
            matches!(&failure, Failure::Usage(m) if m.contains("keeps its own files")),
            "{failure}"
        );
    }
    machine.request.workspace = machine.path("~/.config/other");
    machine.load();
    // The home directory of a user who has the product's name.
    machine.request.user_file = machine.request.home.join("policy.toml");
    let loaded = machine.load();
    let access = |path: &str| crate::fixture::access(&loaded, &machine.path(path));
    assert_eq!(access("~/policy.toml"), crate::Access::Denied);
    assert_eq!(access("~/.config/other/x"), crate::Access::Write);
}

#[test]
fn a_workspace_that_is_no_folder_is_the_users_mistake() {
    let mut machine = Machine::new().file("x", "");
    for bad in ["x", "nowhere"] {
        machine.request.workspace = machine.path("").join(bad);
        let failure = Failure::from(machine.try_load().unwrap_err());
        assert!(
            matches!(&failure, Failure::Usage(m) if m.contains("give an existing folder")),
            "{failure}"
        );
        machine.request.workspace = machine.request.cwd.clone();
    }
}

#[test]
fn the_nearest_project_policy_is_taken_and_none_above_the_home_directory() {
    let machine = Machine::new().file("a/b/x", "");
    let home = &machine.request.home;
    let deep = machine.path("a/b");
    std::fs::write(machine.root().join("bailiwick.toml"), "").unwrap();
    assert_eq!(project_file(&deep, home), None);
    std::fs::write(home.join("bailiwick.toml"), "").unwrap();
    assert_eq!(project_file(&deep, home), Some(home.join("bailiwick.toml")));
    std::fs::write(machine.path("a/bailiwick.toml"), "").unwrap();
    assert_eq!(
        project_file(&deep, home),
        Some(machine.path("a/bailiwick.toml"))
    );
}
