//! A command's terminal: the guest's own pseudo-terminal, with the size and modes of the caller's.

use bailiwick_channel::schema::{Modes, Size};
use bailiwick_process::guest::{open_terminal, other_side};
use rustix::fd::OwnedFd;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr, tcsetwinsize};
use std::io;

/// Both sides of a terminal.
pub(crate) struct Terminal {
    pub(crate) master: OwnedFd,
    pub(crate) slave: OwnedFd,
}

/// Opens one.
pub(crate) fn open(size: Size, modes: Option<&Modes>) -> io::Result<Terminal> {
    let master = open_terminal()?;
    let slave = other_side(&master)?;
    if let Some(modes) = modes {
        change(&slave, modes)?;
    }
    resize(&master, size)?;
    Ok(Terminal { master, slave })
}

/// Gives it other modes, by either side.
pub(crate) fn change(side: &OwnedFd, modes: &Modes) -> io::Result<()> {
    let mut termios = tcgetattr(side)?;
    modes.apply(&mut termios);
    Ok(tcsetattr(side, OptionalActions::Now, &termios)?)
}

/// Whether a program reads single keys from it, by either side.
pub(crate) fn wants_keys(side: &OwnedFd) -> bool {
    tcgetattr(side).is_ok_and(|modes| !modes.local_modes.contains(LocalModes::ICANON))
}

/// Gives it another size; the kernel tells the programs.
pub(crate) fn resize(master: &OwnedFd, size: Size) -> io::Result<()> {
    Ok(tcsetwinsize(master, size.into())?)
}
