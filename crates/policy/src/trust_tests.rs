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
