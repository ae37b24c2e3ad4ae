//! What a backend is: something that prepares an isolated place, lets one command run in it, and
//! reports what happens to it. It decides nothing and records nothing; the session does both.

use crate::trust::TrustFiles;
use bailiwick_event::{Act, Decision, Failure, LimitKind};
use bailiwick_gate::{Inside, Sockets};
use bailiwick_policy::Effective;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::termios::{Termios, Winsize};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The number of a sandbox's own command: the one whose end is the sandbox's.
pub const OWN: u32 = 0;

/// What is executed.
#[derive(Clone, Copy)]
pub struct Invocation<'a> {
    /// The command's words; not empty.
    pub argv: &'a [OsString],
    /// The folder in which it starts.
    pub cwd: &'a Path,
    /// The command's whole environment.
    pub environment: &'a [(OsString, OsString)],
}

/// Everything that a backend needs to know to make a sandbox.
pub struct Launch<'a> {
    /// What the sandbox may do.
    pub policy: &'a Effective,
    /// What starts in it; none where the command enters later.
    pub command: Option<Invocation<'a>>,
    /// Whether commands may enter it.
    pub open: bool,
    /// The folder of the host that backs the policy's `private` paths.
    pub private: &'a Path,
    /// Whether layers that the machine does not have are done without.
    pub best_effort: bool,
    /// What its programs trust; none where that is what its files say.
    pub trust: Option<&'a TrustFiles>,
    /// What stdin, stdout and stderr are inside, where they are not the caller's own: whatever can
    /// be read and written, sockets as well.
    pub streams: [Option<BorrowedFd<'a>>; 3],
    /// What the command is besides, where it is a program of the product's own that shows the policy's
    /// files to somebody else.
    pub monitor: Option<Monitor<'a>>,
}

impl<'a> Launch<'a> {
    /// A sandbox with a policy, for nobody's command.
    #[must_use]
    pub fn of_nothing(policy: &'a Effective) -> Self {
        Self {
            policy,
            command: None,
            open: false,
            private: Path::new("/"),
            best_effort: false,
            trust: None,
            streams: [None; 3],
            monitor: None,
        }
    }
}

/// A program of the product's own that shows the policy's files to somebody else (a virtual machine
/// monitor), and is confined as a command is. Inside it is root, without any capability; on the host
/// it is who a command would be.
#[derive(Clone, Copy)]
pub struct Monitor<'a> {
    /// Below this folder of the root stand the policy's files, at their own paths, and nothing else.
    /// Links there say what they say on the host: whoever sees the files follows them himself.
    pub share: &'a Path,
    /// What the program itself needs, outside of that folder; later entries may lie in earlier ones.
    pub own: &'a [Own],
    /// Whether it is made before the launch that it is for: [`Running::fits`] is asked then.
    pub waits: bool,
}

/// A file or folder of the host that a [`Monitor`] needs for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// The path on the host; what a link leads to stands in its place.
    pub source: PathBuf,
    /// The path inside.
    pub at: PathBuf,
    /// What may be done with it.
    pub access: OwnAccess,
}

/// What a [`Monitor`] may do with something of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnAccess {
    /// Read and execute.
    Read,
    /// Read, execute and write.
    Write,
    /// Read a file that the program opens for writing as well: it gets a descriptor for reading, of
    /// which a private mapping can be written.
    Template,
    /// Read and write a device (`/dev/kvm`).
    Device,
}

/// A command that enters a sandbox.
pub struct Entry<'a> {
    /// Its number, which no other of the sandbox has; [`OWN`] where the sandbox waits for its own.
    pub job: u32,
    /// What is executed.
    pub command: Invocation<'a>,
    /// Its stdin, stdout and stderr.
    pub streams: [BorrowedFd<'a>; 3],
    /// Whether those that are terminals are its controlling terminal.
    pub terminal: bool,
    /// Its file mode creation mask.
    pub umask: u32,
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

    /// What tells its sandboxes apart, beside their policy, from those of another of this name.
    fn kind(&self) -> String {
        self.name().to_owned()
    }

    /// Whether its sandboxes have files of their own in the place of the machine's.
    fn has_own_files(&self) -> bool {
        false
    }

    /// Begins with what does not depend on the policy and returns while that goes on, so that
    /// the policy can be read meanwhile. The calling process has one thread. Dropping what is
    /// returned ends it.
    ///
    /// # Errors
    /// A [`Failure`] where no sandbox can be had here at all.
    fn prepare(&self, terminal: Option<TerminalShape>) -> Result<Box<dyn Prepared>, Failure>;
}

/// A sandbox that waits for its policy.
pub trait Prepared {
    /// Sets it up for a launch and returns while it is being set up.
    ///
    /// # Errors
    /// A [`Failure`] where the policy cannot be enforced here.
    fn begin(self: Box<Self>, launch: &Launch<'_>) -> Result<Box<dyn Begun>, Failure>;
}

/// A sandbox that is being set up.
pub trait Begun {
    /// The layers that it will have, in order; where one cannot be had, [`Begun::ready`] fails.
    fn layers(&self) -> Vec<String>;

    /// What the user should know, a line each; nothing of it is in [`Started::notices`] any more.
    fn notices(&mut self) -> Vec<String>;

    /// Lets the command start as soon as every layer is in force.
    ///
    /// # Errors
    /// The sandbox is gone.
    fn go(&mut self) -> io::Result<()>;

    /// The session has a record, in this folder: what the sandbox keeps of it on disk belongs there.
    fn belongs_to(&mut self, _record: &Path) {}

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Nothing that anybody has to be told.
    Quiet,
    /// The folder in which a command would start cannot be entered.
    NoFolder {
        /// The command's number.
        job: u32,
        /// Why.
        errno: i32,
    },
    /// A command could not be executed.
    ExecFailed {
        /// Its number.
        job: u32,
        /// Why.
        errno: i32,
    },
    /// A command was stopped by a signal.
    Stopped {
        /// Its number.
        job: u32,
        /// The signal.
        signal: i32,
    },
    /// A command that had entered the sandbox ended.
    Ended {
        /// Its number.
        job: u32,
        /// As a shell reports it.
        code: u8,
    },
    /// The sandbox's own command ended, as a shell reports it, and nothing of the sandbox is left.
    Exited(u8),
    /// A limit was reached; what was seen.
    Limit(LimitKind, u64),
    /// So many refusals were too many to be told.
    Lost(u64),
    /// What the user should know of this run, a line; told when it has ended.
    Told(String),
    /// Something happened in the sandbox that its backend only sees.
    Seen(Box<Act>),
    /// The sandbox cannot go on.
    Failed(Box<Failure>),
    /// The backend refused an act, as the policy says.
    Refused(Box<(Act, Decision)>),
    /// Something that the sandbox leaves, as the policy says; told when nothing of it is left.
    Left(Box<(Act, Decision)>),
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

    /// Opens one more terminal of the sandbox's own; returns the master side.
    ///
    /// # Errors
    /// The sandbox was not made to be entered, or there is no terminal left.
    fn open_terminal(&mut self) -> io::Result<OwnedFd>;

    /// Starts a command in the sandbox; what becomes of it is news.
    ///
    /// # Errors
    /// The sandbox is gone.
    fn enter(&mut self, entry: &Entry<'_>) -> io::Result<()>;

    /// Whether a sandbox that waits for its command is what one made for this launch would be.
    ///
    /// # Errors
    /// A [`Failure`] where none could be made for it now.
    fn fits(&self, launch: &Launch<'_>) -> Result<bool, Failure>;

    /// Sends a signal to the process group of a command.
    ///
    /// # Errors
    /// The sandbox is gone.
    fn signal(&mut self, job: u32, signal: i32) -> io::Result<()>;

    /// What has to be known of the sandbox besides what [`Running::save`] writes.
    ///
    /// # Errors
    /// A [`Failure`] where it is none that can be saved.
    fn known(&self, _to: &Save<'_>) -> Result<Vec<u8>, Failure> {
        Err(Failure::usage(
            "only a session in a machine with a disk of its own can be saved or forked\nhelp: start it \
             with `bailiwick run --backend vm --disk`",
        ))
    }

    /// Writes all that the sandbox is to files, from which another process can let it go on. It stands still
    /// meanwhile.
    ///
    /// # Errors
    /// A [`Failure`] where it cannot be saved; it goes on then.
    fn save(&mut self, to: &Save<'_>) -> Result<(), Failure> {
        self.known(to).map(drop)
    }

    /// The process of the host below which all of the sandbox's are.
    fn process(&self) -> Option<i32> {
        None
    }

    /// What is counted from a command's beginning, as disk space, is counted from now on: for a
    /// [`Monitor`] that has waited for whose command it shows files to.
    ///
    /// # Errors
    /// The sandbox is gone.
    fn begins(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Has everything in the sandbox end when this much time has passed from now on, also where this
    /// process is stopped by then: for a [`Monitor`], whose time is that of what it shows files to.
    ///
    /// # Errors
    /// The sandbox is gone.
    fn end_after(&mut self, wall: Duration) -> io::Result<()>;

    /// Ends everything in the sandbox at once.
    fn kill(&mut self);
}

/// Where a sandbox is saved.
#[derive(Clone, Copy)]
pub struct Save<'a> {
    /// Memory and devices.
    pub state: BorrowedFd<'a>,
    /// A copy of its disk; none where the sandbox ends, and leaves the disk.
    pub disk: Option<BorrowedFd<'a>>,
}

impl Save<'_> {
    /// Whether the sandbox ends.
    #[must_use]
    pub fn ends(&self) -> bool {
        self.disk.is_none()
    }
}
