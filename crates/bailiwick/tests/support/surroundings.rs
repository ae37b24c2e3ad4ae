//! What a test process has inherited from whoever started it: a shell leaves SIGINT ignored in what it starts
//! in the background, others block signals or have another umask. What is tested would inherit it as
//! well, and a test would depend on how it was started.

use rustix::fs::Mode;
use std::sync::Once;

/// Signals whose disposition is inherited and changes what a program does. SIGPIPE is Rust's own matter:
/// ignored in this process, and as ever in those that it starts.
const SIGNALS: [i32; 14] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGCHLD,
    libc::SIGCONT,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGWINCH,
    libc::SIGXFSZ,
];

/// Gives this process, and so all that it starts, default dispositions, no blocked signal and the umask
/// 022. Everything that starts something comes by here first.
pub(crate) fn in_order() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        for signal in SIGNALS {
            // SAFETY: the default disposition runs no code of this process, and no handler that somebody
            // has set is taken away: tests set none for these signals.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        rustix::process::umask(Mode::from_raw_mode(0o022));
    });
    // Every thread has a mask of its own, which it has from the one that started it.
    // SAFETY: an all-zero set is valid and sigemptyset fills it; the old mask is not asked for.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}
