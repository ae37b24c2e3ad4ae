use super::*;
use crate::PolicyError;
use crate::fixture::{Machine, reaches};
use crate::sets::trial::{trusted, untrusted};

const CONFIG: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@code.test:team/x.git\n\tfetch = +refs/heads/*\n[remote \"up\"]\n\turl = short:x.git\n\tpushurl = https://push.test/x.git\n";

#[test]
fn remotes_of_a_workspace_that_was_trusted_are_the_set() {
    let machine = Machine::new().file(".git/config", CONFIG).file(
        "~/.gitconfig",
        "[url \"https://rewritten.test/\"]\n\tinsteadOf = short:\n",
    );
    assert_eq!(
        trusted(&machine, find),
        ["code.test:22", "rewritten.test:443", "push.test:443"]
    );
}

#[test]
fn remotes_that_were_not_trusted_are_named_but_not_granted() {
    let machine = Machine::new()
        .file(".git/config", CONFIG)
        .user("[network]\nallow = [\"@git\"]");
    assert!(untrusted(&machine, find).0.is_empty());
    let loaded = machine.load();
    assert!(!reaches(&loaded, "code.test:22") && loaded.effective.network.allow.is_empty());
    let told = &loaded.notices[0];
    for said in [
        "@git code.test:22 (from .git/config), @git push.test:443 (from .git/config)",
        "nothing is left of @git",
        "`bailiwick policy trust`",
    ] {
        assert!(told.contains(said), "{told}");
    }
}

#[test]
fn a_workspace_without_remotes_is_an_error_for_the_set() {
    let machine = Machine::new().user("[network]\nallow = [\"@git\"]");
    let error = machine.try_load().unwrap_err();
    assert!(matches!(&error, PolicyError::EmptySet { set, .. } if set == "@git"));
    let shown = error.render();
    assert!(
        shown.starts_with("~/.config/bailiwick/policy.toml:2:10: error: the set @git")
            && shown.contains("in no git repository"),
        "{shown}"
    );
}

#[test]
fn a_trusted_project_grants_its_remotes_through_the_policy() {
    let machine = Machine::new()
        .file(".git/config", CONFIG)
        .project("[network]\nallow = [\"@git\"]")
        .trusted();
    let loaded = machine.load();
    assert!(reaches(&loaded, "code.test:22") && !reaches(&loaded, "code.test:443"));
    assert_eq!(loaded.sets[0].name, "@git");
    assert_eq!(
        loaded.effective.network.allow[0].origin,
        loaded.sets[0].origin
    );
}

#[test]
fn a_worktree_leads_to_the_repository_it_belongs_to_which_is_the_workspaces_word() {
    let machine = Machine::new()
        .file(".git", "gitdir: ../main/.git/worktrees/w\n")
        .file("~/main/.git/worktrees/w/commondir", "../..\n")
        .file("~/main/.git/config", CONFIG);
    assert_eq!(trusted(&machine, find)[0], "code.test:22");
    assert!(untrusted(&machine, find).0.is_empty());
}

#[test]
fn what_a_file_of_the_workspace_leads_to_is_not_told() {
    let machine = Machine::new()
        .file("~/.netrc", "machine a.test password s3cret\n")
        .file(".git", "gitdir: fake\n")
        .file("fake/x", "");
    std::os::unix::fs::symlink(machine.path("~/.netrc"), machine.path("fake/commondir")).unwrap();
    let (hosts, notices) = untrusted(&machine, find);
    assert!(hosts.is_empty());
    assert_eq!(
        notices,
        ["the configuration of the repository at .git cannot be read"]
    );
}
