use super::*;
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};

#[test]
fn an_error_is_returned_and_left_nowhere_else() {
    // SAFETY: the C library's error number of this thread.
    let kept = unsafe { &mut *libc::__errno_location() };
    *kept = 4711;
    let nothing = [std::ptr::null()];
    // SAFETY: two empty lists.
    let errno = unsafe { exec(c"/no/such/file", nothing.as_ptr(), nothing.as_ptr()) };
    assert_eq!(errno, Errno::NOENT);
    // A program without instructions.
    assert_eq!(attach(&[], 0), Err(Errno::INVAL));
    assert_eq!(*kept, 4711);
}

#[test]
fn descriptors_are_closed_at_the_next_exec() {
    // SAFETY: a new descriptor, far above what other tests open.
    let high = unsafe { OwnedFd::from_raw_fd(libc::fcntl(0, libc::F_DUPFD, 900)) };
    let flags = || rustix::io::fcntl_getfd(&high).unwrap();
    assert!(!flags().contains(rustix::io::FdFlags::CLOEXEC));
    close_on_exec_from(high.as_raw_fd().cast_unsigned()).unwrap();
    assert!(flags().contains(rustix::io::FdFlags::CLOEXEC));
}
