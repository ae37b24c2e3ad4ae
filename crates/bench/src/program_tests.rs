use super::*;
use crate::testing::script;
use std::os::unix::fs::symlink;

fn path(parts: &[&Path]) -> OsString {
    std::env::join_paths(parts).unwrap()
}

#[test]
fn a_real_program_behind_a_shim_is_called_by_its_path() {
    let (shims, real) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    script(shims.path(), "#!/bin/sh\n");
    let target = real.path().join("stand-in");
    symlink("/bin/sh", &target).unwrap();
    let found = find_in("stand-in", &path(&[shims.path(), real.path()])).unwrap();
    assert_eq!(found.path, target);
    assert_eq!(found.word, target.as_os_str());
}

#[test]
fn a_real_program_that_comes_first_is_called_by_its_name() {
    let real = tempfile::tempdir().unwrap();
    symlink("/bin/sh", real.path().join("stand-in")).unwrap();
    let found = find_in("stand-in", &path(&[real.path()])).unwrap();
    assert_eq!(found.word, "stand-in");
}

#[test]
fn a_script_is_used_where_there_is_nothing_else() {
    let shims = tempfile::tempdir().unwrap();
    let file = script(shims.path(), "#!/bin/sh\n");
    assert_eq!(
        find_in("stand-in", &path(&[shims.path()])).unwrap().path,
        file
    );
}

#[test]
fn a_file_that_cannot_be_executed_is_not_a_program() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("stand-in"), "text").unwrap();
    assert_eq!(find_in("stand-in", &path(&[directory.path()])), None);
}
