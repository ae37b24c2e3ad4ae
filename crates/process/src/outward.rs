//! The way of a `connect` out of a sandbox without a network of its own: from the broker, at which
//! the call arrives, to the supervisor, which makes it. The broker is itself not allowed to connect
//! to anything, and never waits for whoever does.

use crate::message::{receive, send_now, tell};
use crate::notify::Call;
use bailiwick_gate::{Call as Made, Source};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{PidfdGetfdFlags, pidfd_getfd};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;

/// A call of a program, whose thread or process comes with it.
#[derive(Debug, Serialize, Deserialize)]
struct Asked {
    number: u64,
    /// The program's number of its socket.
    socket: i32,
    address: Vec<u8>,
}

/// What became of it.
#[derive(Debug, Serialize, Deserialize)]
struct Answered {
    number: u64,
    errno: i32,
}

/// The broker's end.
pub(crate) struct Outward {
    way: OwnedFd,
    /// Calls that wait for their answer, with the number of their listener.
    waiting: HashMap<u64, (usize, Call)>,
    next: u64,
}

impl Outward {
    pub(crate) fn new(way: OwnedFd) -> Self {
        Self {
            way,
            waiting: HashMap::new(),
            next: 0,
        }
    }

    /// Asks for a call to be made.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] where too many are on their way.
    pub(crate) fn ask(
        &mut self,
        (listener, call): (usize, Call),
        caller: OwnedFd,
        address: Vec<u8>,
    ) -> io::Result<()> {
        let asked = Asked {
            number: self.next,
            // The kernel looks at the low word.
            socket: call.arguments[0] as i32,
            address,
        };
        send_now(&self.way, &asked, &[caller])?;
        self.waiting.insert(self.next, (listener, call));
        self.next += 1;
        Ok(())
    }

    /// The next answer: whose call, and how it returns; none where it is nobody's.
    ///
    /// # Errors
    /// Nobody answers any more.
    pub(crate) fn hear(&mut self) -> io::Result<Option<(usize, Call, i32)>> {
        let (answered, _) = receive::<Answered>(&self.way)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let waited = self.waiting.remove(&answered.number);
        Ok(waited.map(|(listener, call)| (listener, call, answered.errno)))
    }

    /// The calls that still wait.
    pub(crate) fn into_waiting(self) -> impl Iterator<Item = (usize, Call)> {
        self.waiting.into_values()
    }
}

impl AsFd for Outward {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.way.as_fd()
    }
}

/// The supervisor's end.
#[derive(Debug)]
pub(crate) struct Calls(OwnedFd);

impl Calls {
    /// What arrives on this socket.
    pub(crate) fn new(way: OwnedFd) -> Self {
        Self(way)
    }
}

impl Source for Calls {
    fn readable(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn next(&self) -> io::Result<Option<Made>> {
        while let Some((asked, callers)) = receive::<Asked>(&self.0)? {
            let socket = match callers.first() {
                None => Err(Errno::MFILE),
                Some(_) if asked.socket < 0 => Err(Errno::BADF),
                Some(caller) => pidfd_getfd(caller, asked.socket, PidfdGetfdFlags::empty()),
            };
            match socket {
                Ok(socket) => {
                    return Ok(Some(Made {
                        number: asked.number,
                        socket,
                        address: asked.address,
                    }));
                }
                // A program that nobody may look at.
                Err(Errno::PERM) => self.answer(asked.number, libc::EACCES)?,
                Err(error) => self.answer(asked.number, error.raw_os_error())?,
            }
        }
        Ok(None)
    }

    fn answer(&self, number: u64, errno: i32) -> io::Result<()> {
        tell(&self.0, &Answered { number, errno })
    }
}
