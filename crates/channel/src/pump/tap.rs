//! A file that is read and written without ever waiting for it.
//!
//! Decision: how a file waits belongs to its open file description, which the caller's other programs
//! may hold as well (a shell's terminal, a pipe of `make`), so that of a shared one nothing is changed:
//! a socket is asked not to wait call by call, a pipe or terminal is opened anew, and of what is left
//! little is written at once, and only when it is ready.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, fstat, major, open};
use rustix::io::{Errno, read, write};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt};
use std::time::Duration;

/// The most that is written at once to a file that may block: what a pipe that is ready takes.
const ATOM: usize = 4096;

/// How a file is kept from waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It does not wait: it was told not to, or it is a regular file.
    Plain,
    /// By each call.
    Socket,
    /// It is asked first.
    Careful,
}

#[derive(Debug)]
pub(super) struct Tap {
    file: OwnedFd,
    way: Way,
    shared: bool,
    /// Whether it is ready always, and epoll does not know it.
    pub(super) regular: bool,
}

impl Tap {
    pub(super) fn new(file: OwnedFd, shared: bool) -> Self {
        let kind = fstat(&file).map(|stat| (FileType::from_raw_mode(stat.st_mode), stat.st_rdev));
        let (kind, device) = kind.unwrap_or((FileType::Unknown, 0));
        let regular = matches!(kind, FileType::RegularFile | FileType::Directory);
        let (file, way) = match kind {
            _ if regular => (file, Way::Plain),
            FileType::Socket => (file, Way::Socket),
            _ if !shared => {
                unblock(&file);
                (file, Way::Plain)
            }
            // A terminal, but no controller of one: opened again that would be another terminal.
            FileType::Fifo => reopen(file),
            FileType::CharacterDevice if matches!(major(device), 4 | 136..=143) => reopen(file),
            _ => (file, Way::Careful),
        };
        Self {
            file,
            way,
            shared,
            regular,
        }
    }

    pub(super) fn is_socket(&self) -> bool {
        self.way == Way::Socket
    }

    pub(super) fn read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        match self.way {
            Way::Plain => read(&self.file, buffer),
            Way::Socket => recv(&self.file, buffer, RecvFlags::DONTWAIT).map(|(read, _)| read),
            Way::Careful => {
                self.ask(PollFlags::IN)?;
                read(&self.file, buffer)
            }
        }
    }

    pub(super) fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match self.way {
            Way::Plain => write(&self.file, bytes),
            Way::Socket => send(&self.file, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
            Way::Careful => {
                self.ask(PollFlags::OUT)?;
                write(&self.file, bytes.get(..ATOM).unwrap_or(bytes))
            }
        }
    }

    fn ask(&self, flags: PollFlags) -> Result<(), Errno> {
        match poll(
            &mut [PollFd::new(&self.file, flags)],
            Some(&Timespec::default()),
        )? {
            0 => Err(Errno::AGAIN),
            _ => Ok(()),
        }
    }

    /// Tells the reader that no more comes.
    pub(super) fn end(&self) {
        // Whatever is no socket ends with its descriptor; a shared one goes on for the others.
        if self.is_socket() && !self.shared {
            let _ = shutdown(&self.file, Shutdown::Write);
        }
    }

    /// The other side of a connection is to see that it was broken off, and not that it ended.
    pub(super) fn break_off(&self) {
        if self.is_socket() && !self.shared {
            let _ = sockopt::set_socket_linger(&self.file, Some(Duration::ZERO));
        }
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn unblock(file: &OwnedFd) {
    if let Ok(flags) = fcntl_getfl(file) {
        let _ = fcntl_setfl(file, flags | OFlags::NONBLOCK);
    }
}

/// The same file with a way of waiting of its own; as it is where that cannot be had.
fn reopen(file: OwnedFd) -> (OwnedFd, Way) {
    let access = fcntl_getfl(&file).map(|flags| flags & OFlags::ACCMODE);
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match access.and_then(|access| open(path, access | flags, Mode::empty())) {
        Ok(own) => (own, Way::Plain),
        Err(_) => (file, Way::Careful),
    }
}
