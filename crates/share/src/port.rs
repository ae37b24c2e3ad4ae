//! The stream of messages: requests one way, answers and notifications the other.

use crate::wire::{Answer, LONGEST, REQUEST};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The way to the guest, for whoever has something to say.
#[derive(Debug)]
pub(crate) struct Port {
    stream: OwnedFd,
    /// Whoever holds it writes a whole message.
    turn: Mutex<()>,
    /// So often something was told that nobody had asked.
    notified: AtomicU64,
}

impl Port {
    pub(crate) fn new(stream: OwnedFd) -> Self {
        Self {
            stream,
            turn: Mutex::new(()),
            notified: AtomicU64::new(0),
        }
    }

    pub(crate) fn notified(&self) -> u64 {
        self.notified.load(Ordering::Relaxed)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Answers a request.
    pub(crate) fn answer(&self, unique: u64, mut answer: Answer) -> io::Result<()> {
        self.write(answer.message(unique, 0))
    }

    /// Answers that it failed.
    pub(crate) fn refuse(&self, unique: u64, errno: Errno) -> io::Result<()> {
        self.write(Answer::new().message(unique, -errno.raw_os_error()))
    }

    /// Tells what nobody has asked.
    pub(crate) fn notify(&self, what: i32, mut says: Answer) -> io::Result<()> {
        self.notified.fetch_add(1, Ordering::Relaxed);
        self.write(says.message(0, what))
    }

    fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        while !bytes.is_empty() {
            match rustix::io::write(&self.stream, bytes) {
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Requests as they arrive.
#[derive(Debug)]
pub(crate) struct Requests {
    bytes: Vec<u8>,
    /// Where the next one begins, and where what has arrived ends.
    begin: usize,
    end: usize,
}

impl Requests {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; 2 * LONGEST],
            begin: 0,
            end: 0,
        }
    }

    /// The bytes of the next request, if all of it has arrived.
    ///
    /// # Errors
    /// Its length is less than a header's 40 bytes, or more than [`LONGEST`].
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let arrived = self.bytes.get(self.begin..self.end).unwrap_or_default();
        let Some(length) = arrived.first_chunk() else {
            return Ok(None);
        };
        let length = u32::from_ne_bytes(*length) as usize;
        if !(REQUEST..=LONGEST).contains(&length) {
            let what = "a request is longer or shorter than any can be";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        if arrived.len() < length {
            return Ok(None);
        }
        self.begin += length;
        Ok(self.bytes.get(self.begin - length..self.begin))
    }

    /// Reads what has arrived, and waits where that is nothing. Whether there may be more.
    pub(crate) fn read(&mut self, from: BorrowedFd<'_>) -> io::Result<bool> {
        // There is always room for the rest of a request that has begun.
        if self.begin > LONGEST || self.begin == self.end {
            self.bytes.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
        }
        let room = self.bytes.get_mut(self.end..).unwrap_or_default();
        match rustix::io::read(from, room) {
            Ok(0) => Ok(false),
            Ok(read) => {
                self.end += read;
                Ok(true)
            }
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}
