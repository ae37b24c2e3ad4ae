//! A corpus in pieces that end where a line ends.
//!
//! Decision: what lies in memory is a piece for each thread, whatever the size of the corpus. A
//! piece grows only for a line that is longer than it, and a line that is longer than
//! [`MAX_LINE`] is passed over without being kept.

use super::corpus::{Corpus, MAX_LINE};
use std::fs::File;
use std::io::{self, Read};

/// Bytes of a piece, unless a line of it is longer.
const CHUNK: usize = 1 << 20;

/// A piece of a corpus, whose bytes are the caller's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    /// Its number in the corpus, from 0.
    pub(super) number: u64,
    /// The number of its file.
    pub(super) file: usize,
    /// Bytes of the corpus that it stands for.
    pub(super) size: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, Copy)]
pub(super) enum Kind {
    /// Whole lines.
    Lines,
    /// One line that is too long, whose bytes are not there.
    TooLong,
    /// What the system says instead of bytes.
    Failed(io::ErrorKind),
}

/// The pieces of a corpus, one after the other.
#[derive(Debug)]
pub(super) struct Chunks<'c> {
    corpus: &'c Corpus,
    number: u64,
    /// The number of the file that is read next.
    next: usize,
    open: Option<File>,
    /// The beginning of a line whose end was not read yet.
    rest: Vec<u8>,
    /// Whether what comes belongs to a line that is too long.
    passing: bool,
}

impl<'c> Chunks<'c> {
    pub(super) fn new(corpus: &'c Corpus) -> Self {
        Self {
            corpus,
            number: 0,
            next: 0,
            open: None,
            rest: Vec::new(),
            passing: false,
        }
    }

    /// The next piece, its bytes in place of those in the buffer.
    pub(super) fn next(&mut self, buffer: &mut Vec<u8>) -> Option<Chunk> {
        // A piece with a long line leaves no large buffer behind.
        buffer.clear();
        buffer.shrink_to(2 * CHUNK);
        loop {
            if self.open.is_none() {
                let (path, _) = self.corpus.files.get(self.next)?;
                self.next += 1;
                match File::open(path) {
                    Ok(file) => self.open = Some(file),
                    Err(error) => return Some(self.failed(&error)),
                }
            }
            match self.read(buffer) {
                Ok(Some((kind, size))) => return Some(self.chunk(kind, size)),
                // Its file ended, and there was nothing left.
                Ok(None) => {}
                Err(error) => return Some(self.failed(&error)),
            }
        }
    }

    fn chunk(&mut self, kind: Kind, size: usize) -> Chunk {
        self.number += 1;
        Chunk {
            number: self.number - 1,
            file: self.next - 1,
            size,
            kind,
        }
    }

    fn failed(&mut self, error: &io::Error) -> Chunk {
        self.open = None;
        self.rest.clear();
        self.passing = false;
        self.chunk(Kind::Failed(error.kind()), 0)
    }

    fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<(Kind, usize)>> {
        buffer.append(&mut self.rest);
        let mut passed = 0;
        loop {
            let Some(file) = &mut self.open else {
                return Ok(None);
            };
            let before = buffer.len();
            let wanted = CHUNK.saturating_sub(before).max(CHUNK / 2);
            let read = file.take(wanted as u64).read_to_end(buffer)?;
            if self.passing {
                let end = memchr::memchr(b'\n', buffer);
                passed += end.map_or(buffer.len(), |end| end + 1);
                if let Some(end) = end {
                    self.rest.extend_from_slice(&buffer[end + 1..]);
                }
                buffer.clear();
                if end.is_some() || read == 0 {
                    self.passing = false;
                    return Ok(Some((Kind::TooLong, passed)));
                }
                continue;
            }
            if let Some(end) = memchr::memrchr(b'\n', &buffer[before..]) {
                let end = before + end + 1;
                self.rest.extend_from_slice(&buffer[end..]);
                buffer.truncate(end);
                return Ok(Some((Kind::Lines, end)));
            }
            if read == 0 {
                self.open = None;
                let size = buffer.len();
                return Ok((size > 0).then_some((Kind::Lines, size)));
            }
            self.passing = buffer.len() > MAX_LINE;
        }
    }
}
