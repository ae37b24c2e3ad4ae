use super::*;
use crate::fixture::{Machine, reaches};
use std::os::unix::fs::PermissionsExt;

#[test]
fn the_store_is_for_its_owner_alone_and_holds_one_row_per_project() {
    let machine = Machine::new()
        .project("[network]\nallow = [\"a.test\"]")
        .trusted();
    let machine = machine.project("[network]\nallow = [\"b.test\"]").trusted();
    let path = &machine.request.trust_file;
    assert_eq!(
        fs::metadata(path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(TrustStore::read(path).unwrap().trusted.len(), 1);
    let files = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(files, 1, "no draft is left");
}

#[test]
fn trust_covers_the_files_that_a_project_extends() {
    let machine = Machine::new()
        .project("extends = [\"conf/more.toml\"]")
        .file("conf/more.toml", "[network]\nallow = [\"a.test\"]")
        .trusted();
    assert!(reaches(&machine.load(), "a.test"));
    let machine = machine.file(
        "conf/more.toml",
        "[network]\nallow = [\"a.test\", \"evil.test\"]",
    );
    assert!(!reaches(&machine.load(), "evil.test") && !reaches(&machine.load(), "a.test"));
}

#[test]
fn the_same_bytes_elsewhere_are_not_trusted() {
    let text = "[network]\nallow = [\"a.test\"]";
    let mut machine = Machine::new()
        .project(text)
        .trusted()
        .file("~/other/bailiwick.toml", text);
    machine.request.workspace = machine.path("~/other");
    assert!(!reaches(&machine.load(), "a.test"));
}

#[test]
fn what_changed_is_shown_without_the_strangers_escapes() {
    let machine = Machine::new().project("[network]\nallow = []\n").trusted();
    let machine = machine.project("[network]\nallow = [\"a.test\"] # \u{202e}x\n");
    let candidate = trust(&machine.request).unwrap();
    assert!(!candidate.trusted);
    assert!(
        candidate
            .diff
            .contains("-allow = []\n+allow = [\"a.test\"] # \\u{202e}x"),
        "{}",
        candidate.diff
    );
    assert!(!candidate.diff.contains('\u{202e}'));
    candidate.store().unwrap();
    assert!(trust(&machine.request).unwrap().trusted);
}

#[test]
fn a_damaged_store_trusts_nobody_and_says_so() {
    let machine = Machine::new()
        .project("[network]\nallow = [\"a.test\"]")
        .trusted();
    fs::write(&machine.request.trust_file, "{\"trusted\": [").unwrap();
    let loaded = machine.load();
    assert!(!reaches(&loaded, "a.test"));
    assert!(
        loaded.notices.iter().any(|n| n.contains("is damaged")),
        "{:?}",
        loaded.notices
    );
}

#[test]
fn without_a_project_policy_there_is_nothing_to_trust() {
    assert!(matches!(
        trust(&Machine::new().request),
        Err(PolicyError::NothingToTrust(_))
    ));
}

/// A workspace whose files give a host to a set that the user's policy asks for.
fn with_registry(host: &str) -> Machine {
    Machine::new()
        .user("[network]\nallow = [\"@npm\"]")
        .file(".npmrc", &format!("registry=https://{host}/\n"))
}

#[test]
fn hosts_of_a_workspace_without_a_policy_are_trusted_alone_and_a_change_is_shown() {
    let machine = with_registry("a.test");
    let candidate = trust(&machine.request).unwrap();
    assert_eq!(candidate.diff, "+ @npm a.test:443 (from .npmrc)\n");
    assert!(candidate.files.is_empty() && !candidate.trusted);
    assert_eq!(candidate.path, machine.request.workspace);
    let machine = machine.trusted();
    assert!(reaches(&machine.load(), "a.test:443"));
    assert!(
        machine
            .load()
            .notices
            .iter()
            .all(|n| !n.contains("policy trust"))
    );
    assert!(trust(&machine.request).unwrap().trusted);
    let machine = machine.file(".npmrc", "registry=https://b.test/\n");
    let loaded = machine.load();
    assert!(!reaches(&loaded, "a.test:443") && !reaches(&loaded, "b.test:443"));
    assert!(loaded.notices.iter().any(|n| n.contains("@npm b.test:443")));
    assert_eq!(
        trust(&machine.request).unwrap().diff,
        "- @npm a.test:443\n+ @npm b.test:443 (from .npmrc)\n"
    );
    let machine = machine.trusted();
    assert!(reaches(&machine.load(), "b.test:443"));
    let machine = machine.file(".npmrc", "registry=https://a.test/\n");
    assert!(!reaches(&machine.load(), "a.test:443"));
}

#[test]
fn hosts_stand_behind_the_files_and_a_host_more_leaves_the_files_trusted() {
    let machine = with_registry("a.test").project("[network]\nallow = [\"b.test\"]\n");
    let diff = trust(&machine.request).unwrap().diff;
    assert!(
        diff.ends_with("+allow = [\"b.test\"]\n+ @npm a.test:443 (from .npmrc)\n"),
        "{diff}"
    );
    let machine = machine.trusted();
    assert!(reaches(&machine.load(), "a.test:443") && reaches(&machine.load(), "b.test:443"));
    let machine = machine.file(
        ".npmrc",
        "registry=https://a.test/\n@x:registry=https://c.test/\n",
    );
    let loaded = machine.load();
    assert!(reaches(&loaded, "a.test:443") && reaches(&loaded, "b.test:443"));
    assert!(!reaches(&loaded, "c.test:443"));
    assert_eq!(
        trust(&machine.request).unwrap().diff,
        "+ @npm c.test:443 (from .npmrc)\n"
    );
}

#[test]
fn a_store_of_an_earlier_version_trusts_files_and_no_hosts() {
    let machine = with_registry("a.test")
        .project("[network]\nallow = [\"b.test\"]\n")
        .trusted();
    let path = &machine.request.trust_file;
    let mut store: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    store.as_object_mut().unwrap().remove("workspaces").unwrap();
    fs::write(path, store.to_string()).unwrap();
    let loaded = machine.load();
    assert!(reaches(&loaded, "b.test:443") && !reaches(&loaded, "a.test:443"));
}

#[test]
fn what_was_trusted_for_a_set_stays_where_another_set_is_looked_at() {
    let mut machine = Machine::new()
        .file("~/npm.toml", "[network]\nallow = [\"@npm\"]")
        .file("~/git.toml", "[network]\nallow = [\"@git\"]")
        .file(".npmrc", "registry=https://a.test/\n")
        .file(".git/config", "[remote \"x\"]\nurl = https://b.test/\n");
    for policy in ["~/npm.toml", "~/git.toml"] {
        machine.request.policies = vec![policy.to_owned()];
        machine = machine.trusted();
    }
    assert!(reaches(&machine.load(), "b.test:443"));
    machine.request.policies = vec!["~/npm.toml".to_owned()];
    assert!(reaches(&machine.load(), "a.test:443"));
}

#[test]
fn hosts_of_a_workspace_count_below_it_and_nowhere_else() {
    let mut machine = with_registry("a.test")
        .trusted()
        .file("package/.npmrc", "registry=https://a.test/\n")
        .file("~/other/.npmrc", "registry=https://a.test/\n");
    machine.request.workspace = machine.path("package");
    assert!(reaches(&machine.load(), "a.test:443"));
    machine.request.workspace = machine.path("~/other");
    assert!(!reaches(&machine.load(), "a.test:443"));
}
