//! Entries as bytes: the length of an entry, the entry, and behind a file its contents in parts, each
//! with its length, up to an empty one.

use crate::entry::{Entry, Kind};
use crate::unpack::Outcome;
use std::io::{self, Read, Write};

/// The longest entry, in bytes: two paths and little else.
const ENTRY: usize = 16 * 1024;
/// The longest part of a file, in bytes.
pub(crate) const PART: usize = 64 * 1024;

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
        self.part(&bytes)
    }

    /// Writes a part of a file's contents; an empty one ends it.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn part(&mut self, bytes: &[u8]) -> io::Result<()> {
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
        self.part(&bytes)
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

    fn length(&mut self, most: usize) -> io::Result<usize> {
        let mut length = [0; 4];
        self.from.read_exact(&mut length)?;
        match usize::try_from(u32::from_le_bytes(length)) {
            Ok(length) if length <= most => Ok(length),
            _ => Err(broken("a length that nothing has")),
        }
    }

    /// The next entry; none at the end. Contents that were not read are passed over.
    ///
    /// # Errors
    /// Those of the stream; what came is no entry, or its path leads elsewhere.
    pub fn entry(&mut self) -> io::Result<Option<Entry>> {
        while self.next_part()?.is_some() {}
        let length = self.length(ENTRY)?;
        self.part.resize(length, 0);
        self.from.read_exact(&mut self.part)?;
        let entry: Entry = postcard::from_bytes(&self.part).map_err(|_| broken("no entry"))?;
        entry
            .checked()
            .map_err(|bad| io::Error::new(io::ErrorKind::InvalidData, bad.to_string()))?;
        self.contents = !self.listing && matches!(entry.kind, Kind::File { .. });
        Ok((entry.kind != Kind::End).then_some(entry))
    }

    /// What became of the next entry; none where the stream ends.
    ///
    /// # Errors
    /// Those of the stream; what came says nothing.
    pub fn outcome(&mut self) -> io::Result<Option<Outcome>> {
        let length = match self.length(ENTRY) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        };
        self.part.resize(length, 0);
        self.from.read_exact(&mut self.part)?;
        let outcome = postcard::from_bytes(&self.part).map_err(|_| broken("no outcome"))?;
        Ok(Some(outcome))
    }

    /// The next part of the contents of the file that was read last; none where it ends.
    ///
    /// # Errors
    /// Those of the stream; a part that is too long.
    pub fn next_part(&mut self) -> io::Result<Option<&[u8]>> {
        if !self.contents {
            return Ok(None);
        }
        let length = self.length(PART)?;
        self.contents = length > 0;
        self.part.resize(length, 0);
        self.from.read_exact(&mut self.part)?;
        Ok(self.contents.then_some(self.part.as_slice()))
    }
}
