//! A command's streams on the host: the caller's own, whose way of waiting stays as it is because
//! others hold them too, and a terminal that stands between the caller's and the guest's.

use bailiwick_channel::Ends;
use bailiwick_channel::schema::{Modes, Size};
use bailiwick_process::guest::{open_terminal, other_side};
use bailiwick_sandbox::TerminalShape;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{fcntl_getfl, fstat, tell};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::termios::{
    LocalModes, OptionalActions, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};
use std::io;

/// The files of a command's streams.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// Each; none where it is closed, or what the command has for it is the guest's.
    pub(crate) ends: [Option<Ends>; 3],
    /// Whether stderr is what stdout is, so that what is said on both keeps its order.
    pub(crate) joined: bool,
}

impl Streams {
    /// Copies of these files; a stream that is closed is none.
    pub(crate) fn of(streams: [Option<BorrowedFd<'_>>; 3]) -> Self {
        let mut ends = [const { None }; 3];
        for (number, (stream, ends)) in streams.into_iter().zip(&mut ends).enumerate() {
            let Some(stream) = stream else { continue };
            let Ok(copy) = fcntl_dupfd_cloexec(stream, 3) else {
                continue;
            };
            *ends = Some(match number {
                0 => Ends::source(copy).shared(),
                _ => Ends::sink(copy).shared(),
            });
        }
        let joined = match streams {
            [_, Some(stdout), Some(stderr)] => are_one(stdout, stderr),
            _ => false,
        };
        if joined {
            ends[2] = None;
        }
        Self { ends, joined }
    }
}

impl Streams {
    /// The same, where the command has stdout and stderr apart, as it may have them after it was saved.
    pub(crate) fn apart(mut self) -> Self {
        if self.joined {
            let stdout = self.ends[1].as_ref().and_then(|ends| ends.sink.as_ref());
            let copy = stdout.and_then(|file| file.try_clone().ok());
            self.ends[2] = copy.map(|copy| Ends::sink(copy).shared());
            self.joined = false;
        }
        self
    }
}

impl From<[Option<Ends>; 3]> for Streams {
    /// Files of this process's own.
    fn from(ends: [Option<Ends>; 3]) -> Self {
        Self {
            ends,
            joined: false,
        }
    }
}

/// Whether what is written to either goes to the same place behind what was written to the other: two
/// descriptors of one open file, or two that cannot be told from that.
fn are_one(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> bool {
    let about = |fd| {
        let stat = fstat(fd).ok()?;
        let flags = fcntl_getfl(fd).ok()?;
        // A pipe has no position, a terminal none that says anything.
        Some((stat.st_dev, stat.st_ino, flags, tell(fd).ok()))
    };
    about(a).is_some_and(|a| Some(a) == about(b))
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
        let master = open_terminal()?;
        let slave = other_side(&master)?;
        tcsetwinsize(&slave, shape.size)?;
        make_plain(&slave, shape.streams[0])?;
        Ok(Self { master, slave })
    }
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

/// The modes that the caller's side has given to a terminal; it is plain again.
pub(crate) fn modes_given(slave: &OwnedFd) -> Option<Modes> {
    let modes = tcgetattr(slave).ok()?;
    // What makes nothing of what is typed was made plain here.
    let given = modes
        .local_modes
        .contains(LocalModes::ISIG)
        .then(|| Modes::from(&modes))?;
    make_plain(slave, true).ok()?;
    Some(given)
}

/// The size that a terminal has now.
pub(crate) fn size_of(terminal: &OwnedFd) -> Option<Size> {
    tcgetwinsize(terminal).ok().map(Size::from)
}

#[cfg(test)]
#[path = "stdio_tests.rs"]
mod tests;
