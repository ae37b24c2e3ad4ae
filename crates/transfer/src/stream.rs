//! Entries as bytes: the length of an entry, the entry, and behind a file its contents in parts, each
//! with its length, up to an empty one; or up to the word that they are taken back, and why, where they
//! could not be read to their end.

use crate::entry::{BadPath, Entry, Kind, checked};
use crate::unpack::Outcome;
use serde::Deserialize;
use std::borrow::Borrow;
use std::io::{self, Read, Write};

/// The longest entry, in bytes: two paths and little else.
const ENTRY: usize = 16 * 1024;
/// The longest part of a file, in bytes.
pub(crate) const PART: usize = 64 * 1024;
/// Stands for the length of a part where contents are taken back; the reason follows.
const TAKEN_BACK: [u8; 4] = u32::MAX.to_le_bytes();

/// Writes entries.
#[derive(Debug)]
pub struct Writer<W>(W);

impl<W: Write> Writer<W> {
    /// To here.
    pub fn new(to: W) -> Self {
        Self(to)
    }

    /// Writes an entry.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        let bytes = postcard::to_allocvec(entry).map_err(io::Error::other)?;
        self.piece(&bytes)
    }

    /// Writes a part of a file's contents; nothing where it is empty.
    ///
    /// # Errors
    /// Those of the stream; a part that is too long.
    pub fn part(&mut self, bytes: &[u8]) -> io::Result<()> {
        match bytes.len() {
            0 => Ok(()),
            1..=PART => self.piece(bytes),
            _ => Err(broken("a part that is too long")),
        }
    }

    /// Says that a file's contents are complete.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn whole(&mut self) -> io::Result<()> {
        self.piece(&[])
    }

    /// Says that a file's contents could not be read to their end, and why.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn taken_back(&mut self, errno: i32) -> io::Result<()> {
        self.0.write_all(&TAKEN_BACK)?;
        self.0.write_all(&errno.to_le_bytes())
    }

    fn piece(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        self.0.write_all(&length.to_le_bytes())?;
        self.0.write_all(bytes)
    }

    /// Writes what became of an entry.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn outcome(&mut self, outcome: &Outcome) -> io::Result<()> {
        let bytes = postcard::to_allocvec(outcome).map_err(io::Error::other)?;
        self.piece(&bytes)
    }

    /// Writes a listing: these entries, and that nothing more comes.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn listing<E: Borrow<Entry>>(
        &mut self,
        entries: impl IntoIterator<Item = E>,
    ) -> io::Result<()> {
        for entry in entries {
            self.entry(entry.borrow())?;
        }
        self.end()
    }

    /// Says that nothing more comes.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn end(&mut self) -> io::Result<()> {
        self.entry(&Entry::bare(b"", Kind::End))?;
        self.0.flush()
    }
}

/// A part of a file's contents, or their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// More of them.
    Bytes(&'a [u8]),
    /// They are complete.
    Whole,
    /// They could not be read to their end; why.
    TakenBack(i32),
}

/// Reads entries that somebody hostile may have written.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    /// Whether contents follow that were not read.
    contents: bool,
    listing: bool,
    part: Vec<u8>,
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl<R: Read> Reader<R> {
    /// A stream of entries with their contents.
    pub fn new(from: R) -> Self {
        Self {
            from,
            contents: false,
            listing: false,
            part: Vec::new(),
        }
    }

    /// A stream of entries alone.
    pub fn listing(from: R) -> Self {
        Self {
            listing: true,
            ..Self::new(from)
        }
    }

    /// The stream itself, behind what was read.
    pub fn into_inner(self) -> R {
        self.from
    }

    fn word(&mut self) -> io::Result<[u8; 4]> {
        let mut word = [0; 4];
        self.from.read_exact(&mut word).map(|()| word)
    }

    /// Reads as many bytes as a word says.
    fn piece(&mut self, length: [u8; 4], most: usize) -> io::Result<&[u8]> {
        let length = match usize::try_from(u32::from_le_bytes(length)) {
            Ok(length) if length <= most => length,
            _ => return Err(broken("a length that nothing has")),
        };
        self.part.resize(length, 0);
        self.from.read_exact(&mut self.part)?;
        Ok(&self.part)
    }

    /// The next entry; none at the end. Contents that were not read are passed over.
    ///
    /// # Errors
    /// Those of the stream; what came is no entry, or its path leads elsewhere.
    pub fn entry(&mut self) -> io::Result<Option<Entry>> {
        while let Part::Bytes(_) = self.next_part()? {}
        let length = self.word()?;
        let entry: Entry = only(self.piece(length, ENTRY)?).ok_or_else(|| broken("no entry"))?;
        entry.checked().map_err(elsewhere)?;
        self.contents = !self.listing && matches!(entry.kind, Kind::File { .. });
        Ok((entry.kind != Kind::End).then_some(entry))
    }

    /// What became of the next entry; none where the stream ends.
    ///
    /// # Errors
    /// Those of the stream; what came says nothing, or its path leads elsewhere.
    pub fn outcome(&mut self) -> io::Result<Option<Outcome>> {
        let length = match self.word() {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        };
        let outcome: Outcome =
            only(self.piece(length, ENTRY)?).ok_or_else(|| broken("no outcome"))?;
        checked(&outcome.path).map_err(elsewhere)?;
        Ok(Some(outcome))
    }

    /// The next part of the contents of the file that was read last; they are whole where nothing
    /// follows.
    ///
    /// # Errors
    /// Those of the stream; a part that is too long.
    pub fn next_part(&mut self) -> io::Result<Part<'_>> {
        if !self.contents {
            return Ok(Part::Whole);
        }
        let length = self.word()?;
        if length == TAKEN_BACK {
            self.contents = false;
            return Ok(Part::TakenBack(i32::from_le_bytes(self.word()?)));
        }
        self.contents = length != [0; 4];
        match self.piece(length, PART)? {
            [] => Ok(Part::Whole),
            part => Ok(Part::Bytes(part)),
        }
    }
}

fn elsewhere(bad: BadPath) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, bad.to_string())
}

/// What these bytes say, if they say nothing else.
fn only<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let (what, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(what)
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
