//! Stopping and going on, as a shell's job control expects of a command that it started itself.

use rustix::process::{Pid, Signal, getpgrp, getpid, getppid, getsid, kill_process};

/// Stops this process as the command's own stop would have; returns when it is continued.
/// Returns `false` at once where nobody could continue it.
pub(crate) fn stop_self() -> bool {
    if orphaned() {
        return false;
    }
    kill_process(getpid(), Signal::STOP).is_ok()
}

/// Whether nobody watches this process group: then a stop would be forever (setpgid(2)).
fn orphaned() -> bool {
    let Some(parent) = getppid() else { return true };
    let group = |pid: Option<Pid>| rustix::process::getpgid(pid).ok();
    group(Some(parent)) == Some(getpgrp()) || getsid(Some(parent)).ok() != getsid(None).ok()
}
