//! Where one stream leads: a file that is read, a file that is written, and what the latter has not
//! taken yet.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use std::io;

/// The most that is written at once to a file that may block: what a pipe that is ready takes.
const ATOM: usize = 4096;

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
    pub(super) file: OwnedFd,
    /// Whether epoll tells of it; it tells of no regular file.
    pub(super) polled: bool,
    pub(super) watched: bool,
}

/// A file that is written.
#[derive(Debug)]
pub(super) struct Sink {
    pub(super) file: OwnedFd,
    shared: bool,
    pub(super) watched: bool,
    waiting: Vec<u8>,
    /// How much of it was written.
    written: usize,
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

#[derive(Debug, Default)]
pub(super) struct Joint {
    pub(super) source: Option<Source>,
    pub(super) sink: Option<Sink>,
}

impl Joint {
    pub(super) fn new(ends: Ends) -> Self {
        let Ends {
            source,
            sink,
            shared,
        } = ends;
        let source = source.map(|file| {
            if !shared {
                unblock(file.as_fd());
            }
            Source {
                polled: !is_regular(file.as_fd()),
                file,
                watched: false,
            }
        });
        let sink = sink.map(|file| {
            if !shared {
                unblock(file.as_fd());
            }
            Sink {
                file,
                shared,
                watched: false,
                waiting: Vec::new(),
                written: 0,
                ends: false,
            }
        });
        Self { source, sink }
    }
}

impl Sink {
    pub(super) fn is_waiting(&self) -> bool {
        self.written < self.waiting.len()
    }

    /// Writes what came, after what waits already. A file that may block is written when it is ready.
    pub(super) fn deliver(&mut self, bytes: &[u8]) -> Wrote {
        if self.is_waiting() || self.shared {
            self.waiting.extend_from_slice(bytes);
            return Wrote::Some(0);
        }
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            match rustix::io::write(&self.file, rest) {
                Ok(written) => done += written,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.waiting.extend_from_slice(rest);
                    return Wrote::Some(done);
                }
                Err(_) => return Wrote::Gone,
            }
        }
        Wrote::All(done)
    }

    /// Writes what waits.
    pub(super) fn push(&mut self) -> Wrote {
        let mut done = 0;
        while let Some(rest) = self.waiting.get(self.written..).filter(|r| !r.is_empty()) {
            let most = match self.shared {
                true => rest.len().min(ATOM),
                false => rest.len(),
            };
            match rustix::io::write(&self.file, rest.get(..most).unwrap_or_default()) {
                Ok(written) => {
                    done += written;
                    self.written += written;
                    if self.shared {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return Wrote::Gone,
            }
        }
        if self.is_waiting() {
            return Wrote::Some(done);
        }
        self.waiting.clear();
        self.written = 0;
        Wrote::All(done)
    }

    /// Tells the reader that no more comes.
    pub(super) fn close(self) {
        // Whatever is no socket ends with its descriptor.
        let _ = rustix::net::shutdown(&self.file, rustix::net::Shutdown::Write);
    }
}

fn is_regular(file: BorrowedFd<'_>) -> bool {
    fstat(file).is_ok_and(|stat| {
        matches!(
            FileType::from_raw_mode(stat.st_mode),
            FileType::RegularFile | FileType::Directory
        )
    })
}

fn unblock(file: BorrowedFd<'_>) {
    if let Ok(flags) = fcntl_getfl(file) {
        let _ = fcntl_setfl(file, flags | OFlags::NONBLOCK);
    }
}
