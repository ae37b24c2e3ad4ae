use super::super::FILE;
use super::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

fn state() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn an_authority_is_made_once_and_for_nobody_but_its_user() {
    let state = state();
    assert!(Authority::find(state.path()).unwrap().is_none());
    let made = Authority::open(state.path()).unwrap();
    let path = state.path().join(FILE);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let again = Authority::open(state.path()).unwrap();
    assert_eq!(made.fingerprint(), again.fingerprint());
    assert_eq!(made.fingerprint().len(), 32 * 3 - 1);
    assert!(fs::read_to_string(&path).unwrap().contains("PRIVATE KEY"));
    assert!(
        !made.pem().contains("PRIVATE KEY") && made.pem().starts_with("-----BEGIN CERTIFICATE")
    );
    assert!(!format!("{made:?}").contains("PRIVATE"));
    // Nothing else is left behind.
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1);
}

#[test]
fn of_many_that_make_it_at_once_all_have_the_same() {
    let state = state();
    let all = std::thread::scope(|scope| {
        let one = || Authority::open(state.path()).unwrap().fingerprint();
        let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        all.into_iter()
            .map(|one| one.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1);
}

#[test]
fn another_one_takes_its_place_and_has_another_name() {
    let state = state();
    let old = Authority::open(state.path()).unwrap();
    let new = Authority::rotate(state.path()).unwrap();
    assert_ne!(old.fingerprint(), new.fingerprint());
    assert_eq!(
        Authority::open(state.path()).unwrap().fingerprint(),
        new.fingerprint()
    );
    let names = |authority: &Authority| authority.issuer().key().der_bytes().to_vec();
    assert_ne!(names(&old), names(&new));
}

#[test]
fn a_file_that_others_can_read_is_not_used_and_a_new_one_mends_it() {
    let state = state();
    Authority::open(state.path()).unwrap();
    let path = state.path().join(FILE);
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let said = Authority::open(state.path()).unwrap_err().to_string();
    assert!(
        said.contains("others than you") && said.contains("bailiwick ca rotate"),
        "{said}"
    );
    Authority::rotate(state.path()).unwrap();
    Authority::open(state.path()).unwrap();
}

#[test]
fn what_is_no_file_of_an_authority_is_not_taken_for_one() {
    let whole = state();
    Authority::open(whole.path()).unwrap();
    let other = state();
    Authority::open(other.path()).unwrap();
    let text = |state: &tempfile::TempDir| fs::read_to_string(state.path().join(FILE)).unwrap();
    let (text, other) = (text(&whole), text(&other));
    let at = |text: &str| text.find("-----BEGIN CERTIFICATE").unwrap();
    for broken in [
        String::new(),
        text[..at(&text)].to_owned(),
        text[at(&text)..].to_owned(),
        format!("{}{}", &text[..at(&text)], &other[at(&other)..]),
        text.replace('M', "N"),
        "\0".repeat(100_000),
    ] {
        let state = state();
        let path = state.path().join(FILE);
        fs::write(&path, &broken).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let said = Authority::open(state.path()).unwrap_err();
        assert!(
            matches!(said, AuthorityError::Unreadable(_)),
            "{said:?}: {broken:.40}"
        );
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            broken,
            "nothing is lost"
        );
    }
    let linked = state();
    std::os::unix::fs::symlink(whole.path().join(FILE), linked.path().join(FILE)).unwrap();
    let said = Authority::open(linked.path()).unwrap_err();
    assert!(matches!(said, AuthorityError::NotPrivate(_)), "{said:?}");
}
