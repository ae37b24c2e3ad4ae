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
        let heard = HEARD.into_iter().filter(|signal| !is_ignored(*signal));
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

/// Whether the caller has set a signal to be ignored.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: all-zero is a valid `sigaction`, which the call below overwrites.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is set; what is set now is written to `action`, which lives through the call.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}
