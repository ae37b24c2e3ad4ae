//! The supervisor's signals as a descriptor. What the caller has set to be ignored stays
//! ignored, so that `nohup` and background jobs of simple shells behave as without a sandbox.

use rustix::fd::{AsFd, BorrowedFd};
use signal_hook::consts::signal::{
    SIGCONT, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH,
};
use signal_hook::iterator::backend::{Pending, SignalDelivery};
use signal_hook::iterator::exfiltrator::SignalOnly;
use std::io;
use std::os::unix::net::UnixStream;

/// Signals that mean something to the command, and SIGPIPE, so that a reader of our messages that
/// went away does not end the run.
const HEARD: [i32; 10] = [
    SIGPIPE, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT,
];

/// Signals as they come.
pub(crate) struct Signals(SignalDelivery<UnixStream, SignalOnly>);

impl Signals {
    /// Begins to collect signals.
    pub(crate) fn new() -> io::Result<Self> {
        let ignored = ignored();
        let heard = HEARD
            .into_iter()
            .filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let (read, write) = UnixStream::pair()?;
        Ok(Self(SignalDelivery::with_pipe(
            read, write, SignalOnly, heard,
        )?))
    }

    /// Readable when a signal came.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }

    /// The signals that came, each once.
    pub(crate) fn drain(&mut self) -> Pending<SignalOnly> {
        let mut buffer = [0; 64];
        while let Ok(64) = rustix::net::recv(
            self.0.get_read(),
            &mut buffer,
            rustix::net::RecvFlags::DONTWAIT,
        )
        .map(|(n, _)| n)
        {}
        self.0.pending()
    }
}

/// The signals that the caller has set to be ignored, signal n at bit n - 1 (proc(5)).
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
