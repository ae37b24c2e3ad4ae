//! The sandbox's own terminals. They are of the sandbox's own devpts, so that no terminal of the
//! host is ever open in the sandbox.

use bailiwick_sandbox::TerminalShape;
use rustix::fd::OwnedFd;
use rustix::fs::{Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};
use rustix::termios::{OptionalActions, tcsetattr, tcsetwinsize};
use std::io;

const FLAGS: OFlags = OFlags::RDWR.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens one more terminal of a sandbox from outside, in the folder of its terminals, for the id
/// of its programs; returns the master side.
pub(crate) fn open_in(terminals: &OwnedFd, owner: Option<(u32, u32)>) -> io::Result<OwnedFd> {
    let master = rustix::fs::openat(terminals, "ptmx", FLAGS, Mode::empty())?;
    unlockpt(&master)?;
    if let Some((uid, gid)) = owner {
        let slave = peer(&master)?;
        rustix::fs::fchown(&slave, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
    }
    Ok(master)
}

/// Opens a terminal where this process is, for a sandbox that has none of its own.
pub(crate) fn open_on_host() -> io::Result<OwnedFd> {
    let master = rustix::fs::open("/dev/ptmx", FLAGS, Mode::empty())?;
    unlockpt(&master)?;
    Ok(master)
}

pub(crate) fn peer(master: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    ioctl_tiocgptpeer(master, flags)
}

/// The two sides of a terminal.
pub(crate) struct Pty {
    pub(crate) master: OwnedFd,
    pub(crate) slave: OwnedFd,
}

impl Pty {
    /// Opens a terminal of the same size and modes as the caller's, and makes it the controlling
    /// terminal of this session.
    pub(crate) fn open(shape: &TerminalShape) -> Result<Self, Errno> {
        // In the private root it leads to the sandbox's own; the host's own `pts/ptmx` is nobody's.
        let master = rustix::fs::open("/dev/ptmx", FLAGS, Mode::empty())?;
        unlockpt(&master)?;
        let slave = peer(&master)?;
        tcsetattr(&slave, OptionalActions::Now, &shape.modes)?;
        tcsetwinsize(&slave, shape.size)?;
        rustix::process::ioctl_tiocsctty(&slave)?;
        Ok(Self { master, slave })
    }
}
