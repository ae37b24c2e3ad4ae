//! What a client and the supervisor of a sandbox say to each other, one packet each. Clients are the
//! user's own processes, outside of every sandbox; the supervisor still believes nothing that it
//! did not check.

use crate::packet::{raw, receive};
use crate::ready::ready;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with, sockopt,
};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// From a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// One more terminal of the sandbox's.
    Terminal,
    /// Start a command: a [`Wanted`] in the first descriptor, and the command's three streams. Where a
    /// run is wanted, the client's own stderr besides, for what its supervisor says.
    Enter,
    /// Send a signal to the command's process group.
    Signal(i32),
    /// Change or list the rules: what is wanted is in the first descriptor.
    Rules,
    /// Send a signal to the process group of the sandbox's own command.
    SignalOwn(i32),
    /// Save the session: what has to be known of it to the first descriptor, memory and devices to the
    /// second, and, where it goes on, a copy of its disk to the third.
    Save,
}

/// To a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Say {
    /// A sandbox that waits hears this client, and no other.
    Here,
    /// The master side of a terminal comes along; where it does not, there is none.
    Terminal,
    /// The command was stopped by a signal.
    Stopped,
    /// The command ended, or was not started.
    Ended {
        /// The exit code for the caller.
        code: u8,
        /// What is to be said.
        line: Option<String>,
    },
    /// The sandbox is not the one that is wanted; nothing was started.
    Unfit,
    /// Too many others are there, and this client has no command there yet; nothing was started.
    Full,
    /// What became of the rules is in the descriptor that comes along.
    Rules,
    /// What has to be known of the session is written, and it is about to be saved.
    Known,
    /// The session was saved, or why it was not: the exit code for the caller, and a text.
    Saved(Result<(), (u8, String)>),
}

/// A command that is to enter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wanted {
    /// Its words.
    pub(crate) argv: Vec<OsString>,
    /// Where the client is.
    #[serde(with = "raw")]
    pub(crate) cwd: PathBuf,
    /// The client's environment, of which the policy lets some in.
    pub(crate) caller: Vec<(OsString, OsString)>,
    /// Variables that the client adds.
    pub(crate) added: Vec<(OsString, OsString)>,
    /// Its file mode creation mask.
    pub(crate) umask: u32,
    /// Whether streams that are terminals are the sandbox's own.
    pub(crate) terminal: bool,
    /// What is wanted of a sandbox that waits for its command; none for one that runs.
    pub(crate) run: Option<WantedRun>,
}

/// The run that a waiting sandbox is to become.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WantedRun {
    pub(crate) policies: Vec<String>,
    #[serde(with = "raw")]
    pub(crate) workspace: PathBuf,
    pub(crate) allow_wide_workspace: bool,
    pub(crate) best_effort: bool,
    pub(crate) name: Option<String>,
    pub(crate) monitor: bool,
    pub(crate) json: bool,
}

impl Wanted {
    /// A variable of the client's environment.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsString> {
        let mut all = self.caller.iter();
        all.find(|(key, _)| key == OsStr::new(name))
            .map(|(_, value)| value)
    }
}

/// Calls `act` with the address of a socket of this name in a folder. The name in the address is
/// short, however long the folder's is (unix(7) has room for 107 bytes).
fn at<T>(path: &Path, act: impl FnOnce(&SocketAddrUnix) -> Result<T, Errno>) -> io::Result<T> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().unwrap_or_default();
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, rustix::fs::Mode::empty())?;
    let short = Path::new("/proc/self/fd")
        .join(folder.as_raw_fd().to_string())
        .join(name);
    Ok(act(&SocketAddrUnix::new(&short)?)?)
}

fn socket() -> Result<OwnedFd, Errno> {
    socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
}

/// Opens a door at a path that is free; only the user's own processes can reach it.
pub(crate) fn open_door(path: &Path) -> io::Result<OwnedFd> {
    let socket = socket()?;
    at(path, |address| bind(&socket, address))?;
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    listen(&socket, 64)?;
    Ok(socket)
}

/// Knocks at the door at a path.
pub(crate) fn knock(path: &Path) -> io::Result<OwnedFd> {
    let socket = socket()?;
    at(path, |address| connect(&socket, address))?;
    Ok(socket)
}

/// Knocks at a door behind which nobody may be, or too many before it; none where nobody says within
/// `patience` that it is heard. What was not heard is not done.
pub(crate) fn knock_in_passing(path: &Path, patience: Duration) -> Option<OwnedFd> {
    let socket = socket().ok()?;
    let flags = fcntl_getfl(&socket).ok()?;
    fcntl_setfl(&socket, flags | OFlags::NONBLOCK).ok()?;
    at(path, |address| connect(&socket, address)).ok()?;
    fcntl_setfl(&socket, flags).ok()?;
    let mut fds = [PollFd::new(&socket, PollFlags::IN)];
    if ready(&mut fds, Some(patience)).ok()? != [true] {
        return None;
    }
    match receive::<Say>(&socket) {
        Ok(Some((Say::Here, _))) => Some(socket),
        _ => None,
    }
}

/// Lets one client in, if it is the user's own; none where it is not, or is gone.
pub(crate) fn answer(door: BorrowedFd<'_>) -> Option<OwnedFd> {
    let client = accept_with(door, SocketFlags::CLOEXEC).ok()?;
    let peer = sockopt::socket_peercred(client.as_fd()).ok()?;
    (peer.uid == geteuid()).then_some(client)
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
