//! A command's terminal: the guest's own pseudo-terminal, with the size and modes of the caller's.

use bailiwick_channel::schema::{Modes, Size};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Winsize,
    tcgetattr, tcsetattr, tcsetwinsize,
};
use std::io;

/// Control characters that are carried over, in the order of Linux's `c_cc`.
const SPECIAL: [SpecialCodeIndex; 17] = [
    SpecialCodeIndex::VINTR,
    SpecialCodeIndex::VQUIT,
    SpecialCodeIndex::VERASE,
    SpecialCodeIndex::VKILL,
    SpecialCodeIndex::VEOF,
    SpecialCodeIndex::VTIME,
    SpecialCodeIndex::VMIN,
    SpecialCodeIndex::VSWTC,
    SpecialCodeIndex::VSTART,
    SpecialCodeIndex::VSTOP,
    SpecialCodeIndex::VSUSP,
    SpecialCodeIndex::VEOL,
    SpecialCodeIndex::VREPRINT,
    SpecialCodeIndex::VDISCARD,
    SpecialCodeIndex::VWERASE,
    SpecialCodeIndex::VLNEXT,
    SpecialCodeIndex::VEOL2,
];

/// Both sides of a terminal.
pub(crate) struct Terminal {
    pub(crate) master: OwnedFd,
    pub(crate) slave: OwnedFd,
}

/// Opens one.
pub(crate) fn open(size: Size, modes: Option<&Modes>) -> io::Result<Terminal> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let master = rustix::fs::open(c"/dev/ptmx", flags, Mode::empty())?;
    unlockpt(&master)?;
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    if let Some(modes) = modes {
        let mut termios = tcgetattr(&slave)?;
        termios.input_modes = InputModes::from_bits_retain(modes.input);
        termios.output_modes = OutputModes::from_bits_retain(modes.output);
        termios.control_modes = ControlModes::from_bits_retain(modes.control);
        termios.local_modes = LocalModes::from_bits_retain(modes.local);
        for (index, byte) in SPECIAL.into_iter().zip(&modes.special) {
            termios.special_codes[index] = *byte;
        }
        tcsetattr(&slave, OptionalActions::Now, &termios)?;
    }
    resize(&master, size)?;
    Ok(Terminal { master, slave })
}

/// Gives it another size; the kernel tells the programs.
pub(crate) fn resize(master: &OwnedFd, size: Size) -> io::Result<()> {
    let size = Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: size.width,
        ws_ypixel: size.height,
    };
    Ok(tcsetwinsize(master, size)?)
}
