//! A command's terminal: the guest's own pseudo-terminal, with the size and modes of the caller's.

use bailiwick_channel::schema::{Modes, Size};
use bailiwick_process::guest::{open_terminal, other_side};
use rustix::fd::OwnedFd;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr, tcsetwinsize};
use std::io;

/// Both sides of a terminal.
#[derive(Debug)]
pub(crate) struct Terminal {
    pub(crate) master: OwnedFd,
    pub(crate) slave: OwnedFd,
}

impl Terminal {
    /// Opens one.
    pub(crate) fn open(size: Size, modes: Option<&Modes>) -> io::Result<Self> {
        let master = open_terminal()?;
        let slave = other_side(&master)?;
        let terminal = Self { master, slave };
        if let Some(modes) = modes {
            terminal.change(modes)?;
        }
        terminal.resize(size)?;
        Ok(terminal)
    }

    /// Gives it other modes.
    pub(crate) fn change(&self, modes: &Modes) -> io::Result<()> {
        let mut termios = tcgetattr(&self.slave)?;
        modes.apply(&mut termios);
        Ok(tcsetattr(&self.slave, OptionalActions::Now, &termios)?)
    }

    /// Whether a program reads single keys from it.
    pub(crate) fn wants_keys(&self) -> bool {
        tcgetattr(&self.slave).is_ok_and(|modes| !modes.local_modes.contains(LocalModes::ICANON))
    }

    /// Gives it another size; the kernel tells the programs.
    pub(crate) fn resize(&self, size: Size) -> io::Result<()> {
        Ok(tcsetwinsize(&self.master, size.into())?)
    }
}
