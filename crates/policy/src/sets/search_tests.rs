use super::*;
use crate::fixture::{Machine, reaches};
use std::os::unix::fs::symlink;

const USER: &str = "[network]\nallow = [\"@npm\"]";
const EVIL: &str = "registry=https://evil.test/\n";

fn load(machine: &Machine) -> (bool, String) {
    let loaded = machine.load();
    (reaches(&loaded, "evil.test:443"), loaded.notices.join("\n"))
}

#[test]
fn a_file_of_the_users_that_is_a_link_into_the_workspace_is_the_workspaces() {
    let machine = Machine::new().user(USER).file("dotfiles/npmrc", EVIL);
    symlink("project/dotfiles/npmrc", machine.path("~/.npmrc")).unwrap();
    let (reached, told) = load(&machine);
    assert!(!reached && told.contains("@npm evil.test:443"), "{told}");
}

#[test]
fn a_link_of_the_workspaces_on_the_way_to_a_file_of_the_users_makes_it_the_workspaces() {
    let machine = Machine::new()
        .user(USER)
        .file("~/elsewhere/npmrc", EVIL)
        .file("x", "");
    symlink("project/way/npmrc", machine.path("~/.npmrc")).unwrap();
    symlink("../elsewhere", machine.path("way")).unwrap();
    let (reached, told) = load(&machine);
    assert!(!reached && told.contains("@npm evil.test:443"), "{told}");
}

#[test]
fn a_file_that_the_sandbox_may_write_is_the_workspaces() {
    let machine = Machine::new().file("~/.npmrc", EVIL);
    let machine = machine.user(&format!("[filesystem]\nwrite = [\"~/.npmrc\"]\n{USER}"));
    let (reached, told) = load(&machine);
    assert!(
        !reached && told.contains("@npm evil.test:443 (from ~/.npmrc)"),
        "{told}"
    );
    let protected = "[filesystem]\nwrite = [\"~/.npmrc*\"]\nprotect = [\"~/.npmrc\"]\n";
    let machine = Machine::new().file("~/.npmrc", EVIL);
    assert!(!load(&machine.user(&format!("{protected}{USER}"))).0);
    // What it may only read, or has as a folder of its own, it cannot have written.
    for key in ["read", "private"] {
        let machine = Machine::new().file("~/.npmrc", EVIL);
        let machine = machine.user(&format!("[filesystem]\n{key} = [\"~/.npmrc\"]\n{USER}"));
        assert!(load(&machine).0, "{key}");
    }
}

#[test]
fn links_without_end_are_the_workspaces() {
    let machine = Machine::new();
    symlink("b", machine.path("~/a")).unwrap();
    symlink("a", machine.path("~/b")).unwrap();
    let effective = Effective::empty(
        machine.request.workspace.clone(),
        machine.request.home.clone(),
    );
    let search = Search::new(&machine.request, &effective, Accepted::All);
    assert!(search.is_workspaces(&machine.path("~/a")));
    assert!(!search.is_workspaces(&machine.path("~/c")));
}
