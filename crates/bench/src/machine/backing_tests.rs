use super::*;
use std::os::unix::fs::FileExt as _;

const BYTES: u64 = 1 << 20;

fn written(path: &Path) -> File {
    let mut known = Known::new();
    let file = File::create(path).unwrap();
    for page in 0..BYTES / PAGE as u64 {
        file.write_all_at(known.page(page, 0), page * PAGE as u64)
            .unwrap();
    }
    file.sync_all().unwrap();
    file
}

#[test]
fn a_file_that_is_not_what_was_written_is_found() {
    let folder = tempfile::tempdir_in(std::env::var_os("HOME").unwrap()).unwrap();
    let path = folder.path().join("file");
    let file = written(&path);
    assert_eq!(check(&path, BYTES, 0, 0), Ok(()));
    assert!(check(&path, BYTES, 1, 0).is_err());
    assert!(check(&path, BYTES / 2, 0, 0).is_err());
    file.write_all_at(b"another", 5000).unwrap();
    let verdict = check(&path, BYTES, 0, 0).unwrap_err();
    assert!(verdict.reason().contains("page 1 is another"), "{verdict}");
}

#[test]
fn a_file_of_holes_is_no_file() {
    let folder = tempfile::tempdir_in(std::env::var_os("HOME").unwrap()).unwrap();
    let path = folder.path().join("file");
    File::create(&path).unwrap().set_len(BYTES).unwrap();
    let verdict = check(&path, BYTES, 0, 0).unwrap_err();
    assert!(verdict.reason().contains("holes"), "{verdict}");
}
