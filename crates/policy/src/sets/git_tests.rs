use super::*;
use crate::PolicyError;
use crate::fixture::{Machine, reaches};

const CONFIG: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@code.test:team/x.git\n\tfetch = +refs/heads/*\n[remote \"up\"]\n\turl = short:x.git\n\tpushurl = https://push.test/x.git\n";

fn search(machine: &Machine, trusted: bool) -> (Vec<String>, Vec<String>) {
    let mut search = Search::new(&machine.request, &machine.request.workspace, trusted);
    find(&mut search);
    (search.hosts(), search.notices)
}

#[test]
fn remotes_of_a_trusted_project_are_the_set() {
    let machine = Machine::new().file(".git/config", CONFIG).file(
        "~/.gitconfig",
        "[url \"https://rewritten.test/\"]\n\tinsteadOf = short:\n",
    );
    assert_eq!(
        search(&machine, true).0,
        ["code.test:22", "rewritten.test:443", "push.test:443"]
    );
}

#[test]
fn remotes_of_an_untrusted_project_are_named_but_not_granted() {
    let machine = Machine::new()
        .file(".git/config", CONFIG)
        .user("[network]\nallow = [\"@git\"]");
    let (hosts, notices) = search(&machine, false);
    assert!(hosts.is_empty());
    assert!(
        notices[0].contains("add \"code.test:22\", \"push.test:443\" to [network] allow"),
        "{notices:?}"
    );
    let error = machine.try_load().unwrap_err();
    assert!(matches!(&error, PolicyError::EmptySet { set, .. } if set == "@git"));
    let shown = error.render();
    assert!(
        shown.starts_with("~/.config/bailiwick/policy.toml:2:10: error: the set @git")
            && shown.contains("code.test:22"),
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
fn a_worktree_leads_to_the_repository_it_belongs_to() {
    let machine = Machine::new()
        .file(".git", "gitdir: ../main/.git/worktrees/w\n")
        .file("~/main/.git/worktrees/w/commondir", "../..\n")
        .file("~/main/.git/config", CONFIG);
    assert_eq!(search(&machine, true).0[0], "code.test:22");
}
