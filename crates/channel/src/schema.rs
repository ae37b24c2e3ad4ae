//! What the two sides tell each other. Everything that a guest sends is what a hostile program may
//! have sent: it is a report, and nothing is allowed because of it.

use serde::{Deserialize, Serialize};
use std::net::SocketAddrV4;

/// What a stream carries; the first frame of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Open {
    /// To the guest: a pipe or terminal of a command that is told of next, by its number.
    Stdio,
    /// To the guest: a file's bytes come back, as they are in the guest.
    ReadFile {
        /// Its path; an archive of it where it is a folder.
        path: Vec<u8>,
    },
    /// To the guest: bytes become a file or, as an archive, a folder.
    WriteFile {
        /// Its path.
        path: Vec<u8>,
    },
    /// To the guest: a connection to this port of the guest's loopback.
    Inward {
        /// The port.
        port: u16,
    },
    /// To the host: a program's TCP connection.
    Outward {
        /// Where it wants to go.
        to: SocketAddrV4,
    },
    /// Either way: every byte comes back.
    Echo,
    /// To the guest: so many bytes come that both sides know.
    Source {
        /// How many.
        bytes: u64,
    },
    /// To the guest: bytes are read and dropped.
    Sink,
}

/// A program of the guest, as the guest's agent says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its process id in the guest.
    pub pid: u32,
    /// Its name, at most 15 bytes.
    pub name: Vec<u8>,
}

/// A terminal's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
    /// Width in pixels.
    pub width: u16,
    /// Height in pixels.
    pub height: u16,
}

/// A terminal's modes: the fields of `struct termios` as Linux has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes {
    /// `c_iflag`.
    pub input: u32,
    /// `c_oflag`.
    pub output: u32,
    /// `c_cflag`.
    pub control: u32,
    /// `c_lflag`.
    pub local: u32,
    /// `c_cc`.
    pub special: Vec<u8>,
}

/// A stream of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    /// `/dev/null`.
    #[default]
    Null,
    /// A pipe, by the number of its stream.
    Pipe(u32),
    /// The command's terminal.
    Terminal,
}

/// A command that starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exec {
    /// Its number, which no other has.
    pub job: u32,
    /// Its words; not empty.
    pub argv: Vec<Vec<u8>>,
    /// The folder in which it starts.
    pub cwd: Vec<u8>,
    /// Its whole environment.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Its file mode creation mask.
    pub umask: u32,
    /// stdin, stdout and stderr.
    pub streams: [Stream; 3],
    /// Its terminal, where it has one: the stream, its size and its modes.
    pub terminal: Option<(u32, Size, Option<Modes>)>,
}

/// A command that runs gets other streams: whoever had them is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attach {
    /// Its number.
    pub job: u32,
    /// stdin, stdout and stderr; what is no pipe any more is closed.
    pub streams: [Stream; 3],
    /// Its terminal, where it has one: the stream and its size.
    pub terminal: Option<(u32, Size)>,
}

/// A folder or file of the host that appears in the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// Its path, on both sides.
    pub path: Vec<u8>,
    /// Whether it is a folder.
    pub folder: bool,
}

/// What the guest needs to know before the first command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Nanoseconds since 1970.
    pub now: u64,
    /// Fresh randomness for the kernel's pool.
    pub entropy: Vec<u8>,
    /// The host name.
    pub hostname: Vec<u8>,
    /// The machine id: 32 hexadecimal digits.
    pub machine: Vec<u8>,
    /// What appears of the host's files.
    pub shown: Vec<Shown>,
    /// How the file system that holds them is mounted.
    pub share: Share,
    /// Links of the host's that lead to what appears: from, to.
    pub links: Vec<(Vec<u8>, Vec<u8>)>,
    /// Files that the guest makes: path, contents.
    pub files: Vec<(Vec<u8>, Vec<u8>)>,
    /// Ports of the host's loopback that can be reached.
    pub loopback: Vec<u16>,
    /// What the commands are held to.
    pub bounds: Bounds,
    /// Whether the session goes on that was in the machine before: its files, bounds and ports are there.
    pub again: bool,
}

/// What the commands of a session are held to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Processes and threads at one time.
    pub processes: Option<u64>,
    /// Bytes of one file.
    pub file_size: Option<u64>,
    /// Open files of one process.
    pub open_files: Option<u64>,
}

/// Where the host's files come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Share {
    /// Nothing appears.
    None,
    /// FUSE, asked on the machine's second port.
    Fuse,
    /// The machine's second disk, with ext4; one folder appears, which is there or is made.
    Disk,
}

/// What the host tells the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToGuest {
    /// What stands before the first command; at the start, and after the machine was restored.
    Begin(Box<Setting>),
    /// Start a command.
    Exec(Box<Exec>),
    /// Send a signal to a command's process group.
    Signal {
        /// The command's number.
        job: u32,
        /// The signal.
        signal: i32,
    },
    /// A command's terminal has another size.
    Resize {
        /// The command's number.
        job: u32,
        /// The size.
        size: Size,
    },
    /// A command's terminal has the modes of the caller's, which has only now been in the foreground.
    Modes {
        /// The command's number.
        job: u32,
        /// The modes.
        modes: Modes,
    },
    /// A datagram for a program of the guest.
    Datagram {
        /// The program's socket.
        to: SocketAddrV4,
        /// From where.
        from: SocketAddrV4,
        /// What it says.
        bytes: Vec<u8>,
    },
    /// Answer with the same number.
    Ping(u64),
    /// Hear of everything that was changed in the host's files before anything that comes behind this.
    Settle,
    /// Write everything to disk and stand still until the next [`ToGuest::Begin`].
    Quiesce,
    /// Say [`ToHost::Held`], and nothing more before [`ToGuest::GoOn`] or another greeting: the machine is
    /// about to be copied.
    Hold {
        /// Whether everything is written to disk before.
        sync: bool,
    },
    /// Say what there is to say.
    GoOn {
        /// Nanoseconds since 1970.
        now: u64,
    },
    /// Have a command's streams lead elsewhere.
    Attach(Attach),
    /// End every process, write back what they wrote, and say [`ToHost::Closed`]: the machine is about to be
    /// ended.
    Close,
}

/// A stage of the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// When it ended, by the guest's clock: nanoseconds since the kernel started.
    pub at: u64,
}

/// What the guest tells the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToHost {
    /// The guest waits for its setting; when it got so far.
    Waiting(Vec<Stage>),
    /// It is complete; when it got so far.
    Ready(Vec<Stage>),
    /// It cannot be completed.
    Failed {
        /// What could not be done.
        what: String,
        /// Why.
        errno: i32,
    },
    /// The folder of a command cannot be entered.
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
    /// A command ended, as a shell reports it.
    Ended {
        /// Its number.
        job: u32,
        /// As a shell reports it.
        code: u8,
    },
    /// Not all that was written to the host's files arrived there; before the end of the machine's own
    /// command.
    Unwritten {
        /// Why.
        errno: i32,
    },
    /// What programs had written up to so many milliseconds ago is on the machine's own disk.
    Synced {
        /// Milliseconds.
        ago: u64,
    },
    /// Every process has ended, and what they wrote was written back: to the machine's own disk, or to the
    /// host's files.
    Closed {
        /// Why it could not be; 0 where it was.
        errno: i32,
    },
    /// A program was executed.
    Executed(Box<Executed>),
    /// So many executions were not told: there were too many.
    Lost(u64),
    /// A datagram of a program.
    Datagram {
        /// The program's socket.
        from: SocketAddrV4,
        /// Where it should go.
        to: SocketAddrV4,
        /// What it says.
        bytes: Vec<u8>,
    },
    /// The answer to a ping.
    Pong(u64),
    /// It stands still.
    Quiet,
    /// It says nothing more.
    Held {
        /// Why not everything is on the disk that was to be written there, as errno(3); 0 where it is.
        errno: i32,
    },
    /// Memory ran out: the kernel ended so many processes.
    OutOfMemory(u64),
    /// The commands have as many processes and threads as they may have, and wanted more.
    TooManyProcesses,
    /// A command whose stdin is not its terminal reads single keys from that, or does no longer.
    Keys {
        /// Its number.
        job: u32,
        /// Whether it does.
        wanted: bool,
    },
    /// A program has opened a connection, some time ago.
    Called {
        /// Who it was.
        by: Program,
        /// Where it wanted to go.
        to: SocketAddrV4,
    },
}

/// A program that was executed, as the guest's kernel says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// The process.
    pub pid: u32,
    /// Its parent.
    pub parent: u32,
    /// Its user.
    pub uid: u32,
    /// The file.
    pub path: Vec<u8>,
    /// Its words.
    pub argv: Vec<Vec<u8>>,
    /// Whether there were more words, or longer ones.
    pub cut: bool,
    /// The folder in which it starts.
    pub cwd: Vec<u8>,
}
