//! Entering a run that has a name, from another process of the same user.

use crate::place::{Place, pass};
use crate::protocol::{Wanted, knock};
use crate::record::door_of;
use crate::session::Finished;
use crate::visit::{attend, visit};
use bailiwick_event::Failure;
use bailiwick_ledger::{SessionState, Sessions, StateDir};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::Mode;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A command that is to enter a run.
pub struct ExecRequest {
    /// The run's name, or its session's id or the beginning of it.
    pub session: String,
    /// Variables that the caller adds.
    pub environment: Vec<(OsString, OsString)>,
    /// The command's words; not empty.
    pub argv: Vec<OsString>,
}

/// A connection to a run that has a name. Commands enter through it one after the other; none of them
/// pays for a process of the product.
pub struct Connection(pub(crate) OwnedFd);

impl Connection {
    /// Connects to a run by its name, or its session's id or the beginning of it.
    ///
    /// # Errors
    /// A [`Failure`] where there is no such run, or it cannot be entered.
    pub fn open(session: &str) -> Result<Self, Failure> {
        let state = StateDir::from_environment()?;
        let door = find(&state, session)?;
        let socket = knock(&door).map_err(|error| match error.kind() {
            // Nobody is behind it.
            ErrorKind::ConnectionRefused => Failure::usage(format!(
                "the run {session} has just ended, or has not begun; `bailiwick sessions list` shows \
                 which go on"
            )),
            ErrorKind::NotFound => Failure::usage(format!(
                "the run {session} cannot be entered: it was started without a name; start it with \
                 `bailiwick run --name NAME`"
            )),
            _ => Failure::fault(format!("the run {session} cannot be entered: {error}")),
        })?;
        Ok(Self(socket))
    }

    /// Runs a command with these streams to its end, with the sandbox's authority. A stream that is
    /// a terminal is the command's as it is: [`exec`] gives it one of the sandbox's instead.
    ///
    /// # Errors
    /// A [`Failure`] where the sandbox is gone.
    pub fn run(
        &self,
        argv: Vec<OsString>,
        streams: [BorrowedFd<'_>; 3],
    ) -> Result<Finished, Failure> {
        attend(&self.0, &Wanted::new(argv, Vec::new()), streams)
    }
}

/// Runs one more command in a sandbox that runs, with that sandbox's authority; its streams are this
/// process's, and its terminal is one of the sandbox's.
///
/// # Errors
/// A [`Failure`] where there is no such run, or it cannot be entered.
pub fn exec(request: ExecRequest) -> Result<Finished, Failure> {
    let connection = Connection::open(&request.session)?;
    let mut wanted = Wanted::new(request.argv, request.environment);
    pass(Place::Knocked);
    visit(&connection.0, &mut wanted)?.ok_or_else(not_taken)
}

/// A sandbox that runs is nobody else's to want.
pub(crate) fn not_taken() -> Failure {
    Failure::fault("the sandbox does not take this command")
}

/// The door of a run.
fn find(state: &StateDir, session: &str) -> Result<PathBuf, Failure> {
    let sessions = Sessions::open(state);
    if let Some(folder) = sessions.running(session)? {
        return Ok(door_of(&folder));
    }
    let found = sessions.find(session)?;
    if found.state == SessionState::Live {
        return Ok(door_of(&found.directory));
    }
    Err(ended(session))
}

/// A session that does not go on, or not any more.
pub(crate) fn ended(session: &str) -> Failure {
    Failure::usage(format!(
        "the run {session} has ended, or is suspended; `bailiwick sessions list` shows which go on, and \
         `bailiwick resume` lets a suspended one"
    ))
}

impl Wanted {
    /// A command as this process would start it.
    pub(crate) fn new(argv: Vec<OsString>, added: Vec<(OsString, OsString)>) -> Self {
        Self {
            argv,
            cwd: std::env::current_dir().unwrap_or_else(|_| Path::new("/").into()),
            caller: std::env::vars_os().collect(),
            added,
            umask: own_umask(),
            terminal: false,
            run: None,
        }
    }
}

/// This process's file mode creation mask, which can only be read by setting it; there is one
/// thread.
fn own_umask() -> u32 {
    let mask = rustix::process::umask(Mode::empty());
    rustix::process::umask(mask);
    mask.as_raw_mode()
}
