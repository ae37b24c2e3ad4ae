//! A command's streams on the host: the caller's own, whose way of waiting stays as it is because
//! others hold them too, and a terminal that stands between the caller's and the guest's.

use bailiwick_channel::Ends;
use bailiwick_channel::schema::{Modes, Size};
use bailiwick_sandbox::TerminalShape;
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, Winsize, tcgetattr, tcgetwinsize,
    tcsetattr, tcsetwinsize,
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

/// The files of three streams; a stream that is closed is none.
pub(crate) fn ends(streams: [Option<BorrowedFd<'_>>; 3]) -> io::Result<[Option<Ends>; 3]> {
    let mut all = [const { None }; 3];
    for (number, (stream, ends)) in streams.into_iter().zip(&mut all).enumerate() {
        let Some(stream) = stream else { continue };
        let Ok(copy) = fcntl_dupfd_cloexec(stream, 3) else {
            continue;
        };
        *ends = Some(match number {
            0 => Ends::source(copy).shared(),
            _ => Ends::sink(copy).shared(),
        });
    }
    Ok(all)
}

/// A terminal between the caller's and the guest's.
pub(crate) struct Between {
    /// The caller's side.
    pub(crate) master: OwnedFd,
    /// The guest's.
    pub(crate) slave: OwnedFd,
}

impl Between {
    /// Opens one that looks like the caller's.
    pub(crate) fn open(shape: &TerminalShape) -> io::Result<Self> {
        let master = open_master()?;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let slave = ioctl_tiocgptpeer(&master, flags)?;
        tcsetwinsize(&slave, shape.size)?;
        make_plain(&slave, shape.streams[0])?;
        Ok(Self { master, slave })
    }
}

/// Opens a terminal.
pub(crate) fn open_master() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let master = rustix::fs::open("/dev/ptmx", flags, Mode::empty())?;
    unlockpt(&master)?;
    Ok(master)
}

/// Has bytes pass as they are: the guest's own terminal makes of them what is to be made. Where nothing
/// is typed it still reads lines, by which the caller's side knows that no single keys are asked for.
pub(crate) fn make_plain(slave: &OwnedFd, typed: bool) -> io::Result<()> {
    let mut modes = tcgetattr(slave)?;
    modes.make_raw();
    if !typed {
        modes.local_modes.insert(LocalModes::ICANON);
    }
    Ok(tcsetattr(slave, OptionalActions::Now, &modes)?)
}

/// The modes of the guest's terminal.
pub(crate) fn modes(termios: &Termios) -> Modes {
    Modes {
        input: termios.input_modes.bits(),
        output: termios.output_modes.bits(),
        control: termios.control_modes.bits(),
        local: termios.local_modes.bits(),
        special: SPECIAL
            .iter()
            .map(|index| termios.special_codes[*index])
            .collect(),
    }
}

/// The size of the guest's terminal.
pub(crate) fn size(size: Winsize) -> Size {
    Size {
        rows: size.ws_row,
        columns: size.ws_col,
        width: size.ws_xpixel,
        height: size.ws_ypixel,
    }
}

/// The size that a terminal has now.
pub(crate) fn size_of(terminal: &OwnedFd) -> Option<Size> {
    tcgetwinsize(terminal.as_fd()).ok().map(size)
}
