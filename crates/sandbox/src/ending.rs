//! Ends a session from outside: its own command is asked to end, then made to, then its supervisor is.

use crate::exec::Connection;
use crate::packet::{receive, tell};
use crate::protocol::{Ask, Say};
use crate::ready::ready;
use bailiwick_event::Failure;
use rustix::event::{PollFd, PollFlags};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::time::{Duration, Instant};

/// How long a sandbox may take whose command was killed: a machine writes back what that had written.
pub(crate) const LAST: Duration = Duration::from_secs(15);

impl Connection {
    /// Whether the session has ended within this time.
    pub(crate) fn has_ended(&self, within: Duration) -> Result<bool, Failure> {
        let until = Instant::now() + within;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
            if ready(&mut fds, Some(left))? != [true] {
                return Ok(false);
            }
            match receive::<Say>(&self.0) {
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return Ok(true),
            }
        }
    }
}

/// Ends a session: its own command gets SIGTERM, and is killed when `patience` is over.
///
/// # Errors
/// A [`Failure`] where there is no such session, or it cannot be entered.
pub fn stop(session: &str, patience: Duration) -> Result<(), Failure> {
    let connection = Connection::open(session)?;
    let lost =
        |error: std::io::Error| Failure::fault(format!("{session} cannot be ended: {error}"));
    let supervisor = socket_peercred(&connection.0)
        .map_err(|e| lost(e.into()))?
        .pid;
    let supervisor = pidfd_open(supervisor, PidfdFlags::empty());
    for (signal, within) in [(Signal::TERM, patience), (Signal::KILL, LAST)] {
        // Where it is gone the rest of this says so.
        let _ = tell(&connection.0, &Ask::SignalOwn(signal.as_raw()));
        if connection.has_ended(within)? {
            return Ok(());
        }
    }
    // Nothing in it answers: whoever holds it takes it along.
    let supervisor = supervisor.map_err(|e| lost(e.into()))?;
    pidfd_send_signal(&supervisor, Signal::KILL).map_err(|e| lost(e.into()))?;
    match connection.has_ended(LAST)? {
        true => Ok(()),
        false => Err(lost(std::io::ErrorKind::TimedOut.into())),
    }
}
