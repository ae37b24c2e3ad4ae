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
pub(crate) struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    /// Is closed last, when no signal is heard any more: `delivery` closes its reading end before that, and a signal in
    /// between would have its handler write to nobody, which is a SIGPIPE, which has its handler write, without end.
    _read: UnixStream,
}

impl Signals {
    /// Begins to collect signals.
    pub(crate) fn new() -> io::Result<Self> {
        let heard = HEARD.into_iter().filter(|signal| !is_ignored(*signal));
        let (read, write) = UnixStream::pair()?;
        Ok(Self {
            _read: read.try_clone()?,
            delivery: SignalDelivery::with_pipe(read, write, SignalOnly, heard)?,
        })
    }

    /// Readable when a signal came.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }

    /// The signals that came, each once.
    pub(crate) fn drain(&mut self) -> Pending<SignalOnly> {
        let mut buffer = [0; 64];
        while let Ok(64) = rustix::net::recv(
            self.delivery.get_read(),
            &mut buffer,
            rustix::net::RecvFlags::DONTWAIT,
        )
        .map(|(n, _)| n)
        {}
        self.delivery.pending()
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_signal_at_the_end_is_heard_or_lost_and_ends() {
        // SAFETY: the default is a valid disposition, and no handler of this process is replaced by it: what starts
        // tests has SIGPIPE ignored. From the first signals on it has a handler for good.
        unsafe { libc::signal(SIGPIPE, libc::SIG_DFL) };
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    signal_hook::low_level::raise(SIGWINCH).unwrap();
                }
            });
            for _ in 0..5_000 {
                drop(Signals::new().unwrap());
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}
