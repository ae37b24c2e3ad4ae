//! What the caller's stdin lets a command write, where its output is limited: a terminal, a socket or
//! a file that was opened for both would be a stream that nobody counts.

use crate::output::write_all;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, SeekFrom, fcntl_getfl, open, seek};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;

/// What stands in for a stdin that can be written; none where it can only be read.
pub(crate) fn readable_only(stdin: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    match fcntl_getfl(stdin) {
        Ok(flags) if flags & OFlags::RWMODE == OFlags::RDONLY => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    if let Ok(again) = open("/proc/self/fd/0", flags, Mode::empty()) {
        // Where the caller left off; what has no position begins anywhere.
        if let Ok(at) = seek(stdin, SeekFrom::Current(0)) {
            let _ = seek(&again, SeekFrom::Start(at));
        }
        return Ok(Some(again));
    }
    // A socket cannot be opened again.
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let from = rustix::io::fcntl_dupfd_cloexec(stdin, 3)?;
    std::thread::Builder::new().spawn(move || pass_in(&from, &write))?;
    Ok(Some(read))
}

/// Copies until there is no more, or nobody reads.
fn pass_in(from: &OwnedFd, to: &OwnedFd) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match rustix::io::read(from.as_fd(), &mut buffer) {
            Ok(0) => return,
            Ok(length) if write_all(to, &buffer[..length]).is_err() => return,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
