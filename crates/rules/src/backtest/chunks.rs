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
    /// Bytes of a piece, and of the longest line.
    sizes: (usize, usize),
}

impl<'c> Chunks<'c> {
    pub(super) fn new(corpus: &'c Corpus) -> Self {
        Self {
            corpus,
            number: 0,
            next: 0,
            open: None,
            rest: Vec::new(),
            sizes: (CHUNK, MAX_LINE),
        }
    }

    /// The next piece, its bytes in place of those in the buffer.
    pub(super) fn next(&mut self, buffer: &mut Vec<u8>) -> Option<Chunk> {
        // A piece with a long line leaves no large buffer behind.
        buffer.clear();
        buffer.shrink_to(2 * self.sizes.0);
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
        self.chunk(Kind::Failed(error.kind()), 0)
    }

    fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<(Kind, usize)>> {
        buffer.append(&mut self.rest);
        let (chunk, longest) = self.sizes;
        let mut passed = 0;
        // How much of the buffer has no end of a line. What is left behind a line that was too
        // long may have one.
        let mut without = 0;
        // Whether what comes belongs to a line that is too long.
        let mut passing = false;
        loop {
            let Some(file) = &mut self.open else {
                return Ok(None);
            };
            let wanted = chunk.saturating_sub(buffer.len()).max(chunk / 2);
            let read = file.take(wanted as u64).read_to_end(buffer)?;
            if passing {
                let end = memchr::memchr(b'\n', buffer);
                passed += end.map_or(buffer.len(), |end| end + 1);
                if let Some(end) = end {
                    self.rest.extend_from_slice(&buffer[end + 1..]);
                }
                buffer.clear();
                if end.is_some() || read == 0 {
                    return Ok(Some((Kind::TooLong, passed)));
                }
                continue;
            }
            if let Some(end) = memchr::memrchr(b'\n', &buffer[without..]) {
                let end = without + end + 1;
                self.rest.extend_from_slice(&buffer[end..]);
                buffer.truncate(end);
                return Ok(Some((Kind::Lines, end)));
            }
            if read == 0 {
                self.open = None;
                let size = buffer.len();
                return Ok((size > 0).then_some((Kind::Lines, size)));
            }
            without = buffer.len();
            passing = buffer.len() > longest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_line_comes_once_and_in_order(
            files in prop::collection::vec(
                prop::collection::vec((1..60_usize, any::<u8>()), 0..30),
                0..4,
            ),
            ended in any::<bool>(),
        ) {
            let folder = std::env::temp_dir().join(format!("chunks-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            let mut paths = Vec::new();
            let mut expected = Vec::new();
            for (number, file) in files.iter().enumerate() {
                let byte = |b: u8| if b == b'\n' { b' ' } else { b };
                let lines: Vec<_> = file.iter().map(|(n, b)| vec![byte(*b); *n]).collect();
                let mut text = lines.join(&b'\n');
                // An end of line after the last line is no further line.
                if ended && !text.is_empty() {
                    text.push(b'\n');
                }
                let path = folder.join(number.to_string());
                std::fs::write(&path, &text).unwrap();
                paths.push(path);
                let text = text.strip_suffix(b"\n").unwrap_or(&text);
                if !text.is_empty() {
                    let lines = text.split(|b| *b == b'\n');
                    expected.extend(lines.map(|line| (number, line.to_vec())));
                }
            }
            let corpus = Corpus::open(&paths).unwrap();
            let mut chunks = Chunks { sizes: (16, 40), ..Chunks::new(&corpus) };
            let (mut buffer, mut read, mut bytes) = (Vec::new(), Vec::new(), 0);
            while let Some(chunk) = chunks.next(&mut buffer) {
                bytes += chunk.size as u64;
                // What lies in memory is bounded by a line and a piece.
                prop_assert!(buffer.len() <= 40 + 16 + 16, "{}", buffer.len());
                match chunk.kind {
                    Kind::TooLong => read.push((chunk.file, None)),
                    Kind::Lines => {
                        let text = buffer.strip_suffix(b"\n").unwrap_or(&buffer);
                        let lines = text.split(|b| *b == b'\n');
                        read.extend(lines.map(|line| (chunk.file, Some(line.to_vec()))));
                    }
                    Kind::Failed(kind) => panic!("{kind}"),
                }
            }
            std::fs::remove_dir_all(&folder).unwrap();
            prop_assert_eq!(bytes, corpus.bytes());
            let same = read.iter().zip(&expected).all(|((at, read), (file, line))| {
                at == file && match read {
                    Some(read) => read == line,
                    None => line.len() > 40,
                }
            });
            prop_assert!(same && read.len() == expected.len(), "{read:?} {expected:?}");
        }
    }
}
