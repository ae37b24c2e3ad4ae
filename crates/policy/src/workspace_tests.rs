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

/// What is said of a workspace to which a link leads.
fn led(machine: &Machine) -> String {
    match Failure::from(machine.try_load().unwrap_err()) {
        Failure::Usage(message) => message.replace(machine.root().to_str().unwrap(), "ROOT"),
        other => panic!("{other}"),
    }
}

#[test]
fn a_workspace_that_a_sandbox_chose_by_a_link_is_refused() {
    let mut machine = Machine::new()
        .file("~/.ssh/id", "")
        .link("~/mono/pkg", "~/.ssh");
    machine.request.workspace = machine.path("~/mono/pkg");
    machine.load();
    let mut machine = machine.written("~/mono");
    assert_eq!(
        led(&machine),
        "the workspace ROOT/home/mono/pkg cannot be used: ROOT/home/mono/pkg is a symbolic link in a \
         folder that an earlier sandbox could write (ROOT/home/mono), and leads to ROOT/home/.ssh\n\
         help: if that is the folder that is meant, give it itself: --workspace ROOT/home/.ssh"
    );
    // A link above it, and one that is relative to where the user is.
    machine = machine.file("~/.ssh/deep/x", "");
    machine.request.cwd = machine.path("~/mono");
    for way in ["pkg/deep", "./pkg", "x/../pkg/deep/.."] {
        std::fs::create_dir_all(machine.path("~/mono/x")).unwrap();
        machine.request.workspace = way.into();
        assert!(
            led(&machine).contains("mono/pkg is a symbolic link"),
            "{way}"
        );
    }
    // What the message says to do works.
    machine.request.workspace = machine.path("~/.ssh");
    machine.load();
}

#[test]
fn the_way_by_which_a_shell_came_to_the_workspace_is_looked_at() {
    let mut machine = Machine::new()
        .file("~/.ssh/id", "")
        .link("~/mono/pkg", "~/.ssh")
        .written("~/mono");
    machine.request.cwd = machine.path("~/.ssh");
    machine.request.workspace = ".".into();
    let real = machine.path("~/.ssh");
    let by = machine.path("~/mono/pkg");
    let elsewhere = machine.path("~/mono");
    let shell = |machine: &mut Machine, path: &Path| {
        let path = path.as_os_str().to_owned();
        machine.request.environment.insert("PWD".into(), path);
    };
    shell(&mut machine, &by);
    assert!(led(&machine).contains("mono/pkg is a symbolic link"));
    // A variable that does not lead here says nothing.
    for path in [&real, &elsewhere, Path::new("mono/pkg"), Path::new("")] {
        shell(&mut machine, path);
        machine.load();
    }
}

#[test]
fn what_exists_has_the_path_that_the_standard_library_gives_it() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path();
    std::fs::create_dir_all(top.join("a/b (deleted)")).unwrap();
    std::fs::write(top.join("a/file"), "x").unwrap();
    for (target, link) in [
        ("a", "link"),
        ("link/b (deleted)", "further"),
        ("nowhere", "broken"),
        ("loop", "loop"),
        ("a/file", "to-file"),
    ] {
        std::os::unix::fs::symlink(target, top.join(link)).unwrap();
    }
    for name in [
        "",
        "a",
        "a/b (deleted)",
        "link/file",
        "further",
        "further/..",
        "a/./file",
        "broken",
        "loop",
        "a/none",
        "a/file/x",
        "to-file",
        "/",
    ] {
        let path = top.join(name);
        let (ours, theirs) = (canonical(&path), path.canonicalize());
        assert_eq!(ours.as_ref().ok(), theirs.as_ref().ok(), "{name}");
        assert_eq!(
            ours.map_err(|e| e.kind()).err(),
            theirs.map_err(|e| e.kind()).err(),
            "{name}"
        );
    }
}
