//! What a backend is: something that prepares an isolated place, lets one command run in it, and
//! reports what happens to it. It decides nothing and records nothing; the session does both.

use bailiwick_event::{Failure, LimitKind};
use bailiwick_gate::{Inside, Sockets};
use bailiwick_policy::Effective;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::termios::{Termios, Winsize};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Everything that a backend needs to know to start a command.
pub struct Launch<'a> {
    /// What the sandbox may do.
    pub policy: &'a Effective,
    /// The command's words; not empty.
    pub argv: &'a [OsString],
    /// The folder in which it starts.
    pub cwd: &'a Path,
    /// The command's whole environment.
    pub environment: &'a [(OsString, OsString)],
    /// The caller's terminal, where one of the three streams is one.
    pub terminal: Option<TerminalShape>,
    /// The folder of the host that backs the policy's `private` paths.
    pub private: &'a Path,
}

/// What a sandbox's own terminal must look like at the start.
#[derive(Clone)]
pub struct TerminalShape {
    /// Which of stdin, stdout and stderr are terminals.
    pub streams: [bool; 3],
    /// Its size in characters.
    pub size: Winsize,
    /// Its modes.
    pub modes: Termios,
    /// Whether this process was in its foreground; else the modes may be those of a shell's prompt.
    pub foreground: bool,
}

/// How a sandbox is isolated.
pub trait Backend {
    /// Its name: `process`, `vm`, `capos`.
    fn name(&self) -> &'static str;

    /// Begins to set up a sandbox and returns while it is being set up. The calling process has
    /// one thread.
    ///
    /// # Errors
    /// A [`Failure`] where the policy cannot be enforced here.
    fn begin(&self, launch: &Launch<'_>) -> Result<Box<dyn Begun>, Failure>;
}

/// A sandbox that is being set up.
pub trait Begun {
    /// The layers that it will have, in order; where one cannot be had, [`Begun::ready`] fails.
    fn layers(&self) -> Vec<String>;

    /// Lets the command start as soon as every layer is in force.
    ///
    /// # Errors
    /// The sandbox is gone.
    fn go(&mut self) -> io::Result<()>;

    /// Waits until it is complete.
    ///
    /// # Errors
    /// A [`Failure`] that names the layer that could not be had.
    fn ready(self: Box<Self>) -> Result<Started, Failure>;
}

/// A sandbox whose layers are all in force.
pub struct Started {
    /// The handle of it.
    pub running: Box<dyn Running>,
    /// The sockets that the gate serves.
    pub sockets: Sockets,
    /// The way to the sandbox's own loopback.
    pub inside: Arc<dyn Inside>,
    /// The master side of its terminal.
    pub terminal: Option<OwnedFd>,
    /// What the user should know, a line each.
    pub notices: Vec<String>,
}

/// What happened to a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The command could not be executed, for this reason.
    ExecFailed(i32),
    /// The command was stopped by a signal.
    Stopped(i32),
    /// The command ended, as a shell reports it, and nothing of the sandbox is left.
    Exited(u8),
    /// A limit was reached; what was seen.
    Limit(LimitKind, u64),
}

/// A sandbox that is set up or runs.
pub trait Running {
    /// Readable when there is news.
    fn news_fd(&self) -> BorrowedFd<'_>;

    /// The next news; `None` when the sandbox is gone without a word.
    ///
    /// # Errors
    /// What came could not be read.
    fn news(&mut self) -> io::Result<Option<News>>;

    /// Sends a signal to the command's process group.
    ///
    /// # Errors
    /// The sandbox is gone.
    fn signal(&mut self, signal: i32) -> io::Result<()>;

    /// Ends everything in the sandbox at once.
    fn kill(&mut self);
}
