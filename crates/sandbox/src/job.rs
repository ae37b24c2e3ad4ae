//! Stopping and going on, as a shell's job control expects of a command that it started itself.

use rustix::fd::AsFd;
use rustix::process::{Pid, Signal, getpid, getppid, kill_process};
use rustix::termios::tcgetpgrp;

/// Stops this process as the command's own stop would have; returns when it is continued.
/// Returns `false` at once where nobody could continue it.
pub(crate) fn stop_self() -> bool {
    if orphaned() {
        return false;
    }
    kill_process(getpid(), Signal::STOP).is_ok()
}

/// Whether this process is in the foreground of a terminal.
pub(crate) fn is_in_foreground(terminal: impl AsFd) -> bool {
    // A group without a number here is told apart from no other such group.
    let group = tcgetpgrp(terminal).map_or(0, |pid| pid.as_raw_nonzero().get());
    group_of(None) == Some(group)
}

/// Whether nobody watches this process group: then a stop would be forever (setpgid(2)).
fn orphaned() -> bool {
    let Some(parent) = getppid() else { return true };
    group_of(Some(parent)) == group_of(None) || session_of(Some(parent)) != session_of(None)
}

/// The process group of a process, or of this one; 0 where its leader lies outside of the pid
/// namespace, which `rustix` holds to be impossible.
fn group_of(pid: Option<Pid>) -> Option<i32> {
    // SAFETY: the call takes a number and touches no memory.
    let group = unsafe { libc::getpgid(Pid::as_raw(pid)) };
    (group >= 0).then_some(group)
}

/// The session of a process, or of this one; 0 as for its group.
fn session_of(pid: Option<Pid>) -> Option<i32> {
    // SAFETY: the call takes a number and touches no memory.
    let session = unsafe { libc::getsid(Pid::as_raw(pid)) };
    (session >= 0).then_some(session)
}
