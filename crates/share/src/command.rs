//! What is executed in the monitor's sandbox.

use crate::{Watching, serve};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// How it ends where the guest has sent what is no request, as sysexits(3) calls wrong data (`EX_DATAERR`).
pub const NO_REQUEST: u8 = 65;

/// Answers what a guest asks about a folder's files (`share PATH WATCHES`), until nobody is there any more: on
/// stdin, a socket. stdout is where the kernel tells of changes, stderr the counter of [`Watching`]. The words are
/// those behind `share`.
#[must_use]
pub fn run(words: &[OsString]) -> ExitCode {
    let watches = words.get(1).and_then(|word| word.to_str()?.parse().ok());
    let (Some(path), Some(most)) = (words.first().map(Path::new), watches) else {
        return ExitCode::from(2);
    };
    match answer(path, most) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => ExitCode::from(NO_REQUEST),
        Err(_) => ExitCode::FAILURE,
    }
}

fn answer(path: &Path, most: usize) -> io::Result<()> {
    let own = |fd: BorrowedFd<'_>| -> Result<OwnedFd, Errno> { fcntl_dupfd_cloexec(fd, 3) };
    let stream = own(rustix::stdio::stdin())?;
    let watching = Watching {
        inotify: own(rustix::stdio::stdout())?,
        passed: own(rustix::stdio::stderr())?,
        most,
    };
    serve(path, stream, watching)
}
