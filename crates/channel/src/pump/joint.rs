//! Where one stream leads: a file that is read, a file that is written, and what the latter has not
//! taken yet.

use super::tap::Tap;
use crate::queue::Queue;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::io;

/// The files of a stream.
#[derive(Debug, Default)]
pub struct Ends {
    /// Read, and sent.
    pub source: Option<OwnedFd>,
    /// What comes is written to it.
    pub sink: Option<OwnedFd>,
    /// Whether the files are somebody else's as well, whose way of waiting must not change.
    pub shared: bool,
}

impl Ends {
    /// A file that is read.
    #[must_use]
    pub fn source(file: OwnedFd) -> Self {
        Self {
            source: Some(file),
            ..Self::default()
        }
    }

    /// A file that is written.
    #[must_use]
    pub fn sink(file: OwnedFd) -> Self {
        Self {
            sink: Some(file),
            ..Self::default()
        }
    }

    /// A file that is both: a socket, a terminal.
    ///
    /// # Errors
    /// There is no descriptor left.
    pub fn both(file: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            source: Some(file.try_clone()?),
            sink: Some(file),
            shared: false,
        })
    }

    /// The same, where the files are somebody else's as well.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self
    }
}

/// A file that is read.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) tap: Tap,
    pub(super) watched: bool,
    /// Whether there may be something to read.
    pub(super) ready: bool,
    /// Whether it stands in the queue of those that are read.
    pub(super) queued: bool,
}

/// A file that is written.
#[derive(Debug)]
pub(super) struct Sink {
    pub(super) tap: Tap,
    pub(super) watched: bool,
    waiting: Queue,
    /// Whether it is to be closed when all is written.
    pub(super) ends: bool,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrote {
    /// So much; nothing is left.
    All(usize),
    /// So much; the rest waits.
    Some(usize),
    /// Nobody reads any more.
    Gone,
}

/// The files of a stream as they are.
#[derive(Debug, Default)]
pub(super) struct Joint {
    pub(super) source: Option<Source>,
    pub(super) sink: Option<Sink>,
    /// What came before there were files; `None` once there are.
    pub(super) early: Option<Queue>,
    /// Whether there was a sink that nobody reads any more.
    pub(super) deaf: bool,
}

impl Joint {
    /// One that is given its files later.
    pub(super) fn later() -> Self {
        Self {
            early: Some(Queue::default()),
            ..Self::default()
        }
    }

    pub(super) fn new(ends: Ends) -> Self {
        let shared = ends.shared;
        let source = ends.source.map(|file| {
            let tap = Tap::new(file, shared);
            Source {
                ready: tap.regular,
                tap,
                watched: false,
                queued: false,
            }
        });
        let sink = ends.sink.map(|file| Sink {
            tap: Tap::new(file, shared),
            watched: false,
            waiting: Queue::default(),
            ends: false,
        });
        Self {
            source,
            sink,
            ..Self::default()
        }
    }
}

impl Sink {
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Writes what came, after what waits already.
    pub(super) fn deliver(&mut self, bytes: &[u8]) -> Wrote {
        let mut done = 0;
        while !self.is_waiting()
            && let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty())
        {
            match self.tap.write(rest) {
                Ok(written) => done += written,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return Wrote::Gone,
            }
        }
        self.waiting.extend(bytes.get(done..).unwrap_or_default());
        self.outcome(done)
    }

    /// Writes what waits.
    pub(super) fn push(&mut self) -> Wrote {
        let mut done = 0;
        while self.is_waiting() {
            match self.tap.write(self.waiting.as_slice()) {
                Ok(written) => {
                    done += written;
                    self.waiting.take(written);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return Wrote::Gone,
            }
        }
        self.outcome(done)
    }

    /// How much memory has what waits.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.waiting.memory()
    }

    fn outcome(&self, done: usize) -> Wrote {
        match self.is_waiting() {
            true => Wrote::Some(done),
            false => Wrote::All(done),
        }
    }
}
