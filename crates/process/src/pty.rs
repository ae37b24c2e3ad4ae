//! The sandbox's own terminal. It is opened inside, from the sandbox's own devpts, so that no
//! terminal of the host is ever open in the sandbox.

use bailiwick_sandbox::TerminalShape;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};
use rustix::termios::{OptionalActions, tcsetattr, tcsetwinsize};

/// The two sides of a terminal.
pub(crate) struct Pty {
    pub(crate) master: OwnedFd,
    pub(crate) slave: OwnedFd,
}

impl Pty {
    /// Opens a terminal of the same size and modes as the caller's, and makes it the controlling
    /// terminal of this session.
    pub(crate) fn open(shape: &TerminalShape) -> Result<Self, Errno> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let master = rustix::fs::open("/dev/pts/ptmx", flags, Mode::empty())?;
        unlockpt(&master)?;
        let open = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let slave = ioctl_tiocgptpeer(&master, open)?;
        tcsetattr(&slave, OptionalActions::Now, &shape.modes)?;
        tcsetwinsize(&slave, shape.size)?;
        rustix::process::ioctl_tiocsctty(&slave)?;
        Ok(Self { master, slave })
    }
}
