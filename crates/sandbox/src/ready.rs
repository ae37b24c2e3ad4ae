//! Waiting for descriptors.

use bailiwick_event::Failure;
use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use std::time::Duration;

/// Waits until one of them is ready, a signal comes, or `patience` is over; which are ready.
pub(crate) fn ready(
    fds: &mut [PollFd<'_>],
    patience: Option<Duration>,
) -> Result<Vec<bool>, Failure> {
    // A duration that is too long for the kernel is none.
    let patience = patience.and_then(|time| Timespec::try_from(time).ok());
    match poll(fds, patience.as_ref()) {
        Ok(_) => Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect()),
        // What was reported is not to be used then (poll(2)).
        Err(Errno::INTR) => Ok(vec![false; fds.len()]),
        Err(error) => Err(Failure::fault(format!("waiting failed: {error}"))),
    }
}
