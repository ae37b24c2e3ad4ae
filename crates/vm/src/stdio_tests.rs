use super::are_one;
use std::fs::File;
use std::io::{Write as _, pipe};
use std::os::fd::AsFd as _;

#[test]
fn two_descriptors_of_one_file_are_one() {
    let log = tempfile::tempfile().unwrap();
    let copy = log.try_clone().unwrap();
    assert!(are_one(log.as_fd(), copy.as_fd()));
    let (read, write) = pipe().unwrap();
    let copy = write.try_clone().unwrap();
    assert!(are_one(write.as_fd(), copy.as_fd()));
    assert!(!are_one(read.as_fd(), write.as_fd()), "its two ends");
}

#[test]
fn what_is_written_elsewhere_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut log = File::create(&path).unwrap();
    log.write_all(b"text").unwrap();
    let again = File::options().write(true).open(&path).unwrap();
    assert!(!are_one(log.as_fd(), again.as_fd()), "at another place");
    let appended = File::options().append(true).open(&path).unwrap();
    assert!(!are_one(again.as_fd(), appended.as_fd()), "in another way");
    let other = tempfile::tempfile().unwrap();
    assert!(!are_one(again.as_fd(), other.as_fd()), "another file");
    let ((_, a), (_, b)) = (pipe().unwrap(), pipe().unwrap());
    assert!(!are_one(a.as_fd(), b.as_fd()), "another pipe");
}
