use super::*;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn a_new_state_folder_is_the_users_alone() {
    let folder = TempDir::new().unwrap();
    let state = StateDir::at(folder.path().join("a/b")).unwrap();
    assert_eq!(mode(state.path()), 0o700);
    assert_eq!(mode(&state.sessions()), 0o700);
}

#[test]
fn a_folder_that_others_can_write_is_refused() {
    let folder = TempDir::new().unwrap();
    let state = StateDir::at(folder.path().join("state")).unwrap();
    for (path, bits) in [
        (state.path().to_owned(), 0o720),
        (state.path().to_owned(), 0o702),
        (state.sessions(), 0o770),
    ] {
        fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
        let error = StateDir::at(state.path()).unwrap_err();
        assert!(matches!(&error, LedgerError::NotPrivate { path: p, .. } if *p == path));
        assert!(error.to_string().contains("0700"), "{error}");
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    }
    StateDir::at(state.path()).unwrap();
}

#[test]
fn a_folder_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let state = StateDir::at(folder.path().join("state")).unwrap();
    std::os::unix::fs::chown(state.path(), Some(12_345), None).unwrap();
    let error = StateDir::at(state.path()).unwrap_err();
    assert!(error.to_string().contains("another user"), "{error}");
}

#[test]
fn a_file_in_its_place_is_an_error() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("state"), "").unwrap();
    assert!(StateDir::at(folder.path().join("state")).is_err());
}
