//! What is executed in the monitor's sandbox.

use crate::{Watching, serve};
use rustix::fd::{FromRawFd as _, OwnedFd};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Answers what a guest asks about a folder's files (`share PATH WATCHES`), until nobody is there any more: on
/// stdin, a socket. stdout is where the kernel tells of changes, stderr the counter of [`Watching`]. The words are
/// those behind `share`.
#[must_use]
pub fn run(words: &[OsString]) -> ExitCode {
    let watches = words.get(1).and_then(|word| word.to_str()?.parse().ok());
    let (Some(path), Some(most)) = (words.first().map(Path::new), watches) else {
        return ExitCode::from(2);
    };
    // SAFETY: descriptors 0, 1 and 2 are open since this process began, and nothing else in it uses them.
    let [stream, inotify, passed] = [0, 1, 2].map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    let watching = Watching {
        inotify,
        passed,
        most,
    };
    match serve(path, stream, watching) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
