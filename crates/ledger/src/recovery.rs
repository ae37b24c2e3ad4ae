//! Reading a journal that this process did not write, or no longer writes. Anyone with the
//! user's rights may have changed, cut or torn it: only rows that continue the chain from a hash
//! that is already trusted are rows, and the first that does not ends the reading.

use crate::LedgerError;
use crate::chain::{self, Hash};
use crate::layout::{Frame, HEADER, Header, RING};
use crate::mapping::split;
use bailiwick_event::Event;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// What is wrong with a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It is missing, shorter than its header, or not a journal.
    NoHeader,
    /// Its header contradicts itself.
    Header,
    /// It ends before the rows that its header promises.
    Short {
        /// Bytes of rows that are missing.
        missing: u64,
    },
    /// What stands at this byte of the rows is no whole row.
    Torn {
        /// Bytes of rows that were ever written before it.
        position: u64,
    },
    /// The row does not continue the chain: it, or one before it, was changed.
    Chain {
        /// The row's number, as it stands there.
        row: u64,
    },
    /// Rows between the last one that is known and this one are missing.
    Gap {
        /// The row that should be there.
        expected: u64,
        /// The row that is there.
        found: u64,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader => f.write_str("the journal is missing or has no header"),
            Self::Header => f.write_str("the header of the journal contradicts itself"),
            Self::Short { missing } => {
                write!(f, "the journal was cut: {missing} bytes are missing")
            }
            Self::Torn { position } => {
                write!(f, "the journal has no whole row at position {position}")
            }
            Self::Chain { row } => write!(f, "row {row} of the journal breaks the hash chain"),
            Self::Gap { expected, found } => write!(
                f,
                "the journal continues with row {found} where row {expected} should be"
            ),
        }
    }
}

/// A copy of a journal's header and of the rows that it still holds alone.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) header: Header,
    bytes: Vec<u8>,
    damage: Option<Damage>,
}

/// A row that continues the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recovered {
    pub(crate) event: Event,
    pub(crate) json: String,
    pub(crate) hash: Hash,
}

/// Whether the record of a session ever stood: `meta` is made last, and nothing is recorded before.
pub(crate) fn begun(directory: &Path) -> bool {
    ["meta", "policy.lock", "session.db"]
        .iter()
        .any(|name| directory.join(name).symlink_metadata().is_ok())
}

/// Copies a journal. Of a live session the copy is consistent: the writer gives back only room
/// before `drained`, which is read again afterwards.
pub(crate) fn view(path: &Path) -> Result<Result<View, Damage>, LedgerError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Err(Damage::NoHeader)),
        Err(e) => return Err(LedgerError::io("read", path)(e)),
    };
    let mut last = Err(Damage::NoHeader);
    // A supervisor that drains and commits without a pause can spoil a copy, but not often.
    for _ in 0..50 {
        last = copy(&file).map_err(LedgerError::io("read", path))?;
        let Ok(view) = &last else { continue };
        let again = header(&file).map_err(LedgerError::io("read", path))?;
        let same = again.is_some_and(|h| h.drained == view.header.drained);
        if same && view.damage.is_none() && settled(&view.header) {
            break;
        }
        if !same {
            continue;
        }
        // Of a live session the next look may be better; a dead one does not change.
        if again.is_some_and(|h| h.committed == view.header.committed) {
            break;
        }
    }
    Ok(last)
}

fn settled(header: &Header) -> bool {
    header.committed == 0 || header.slot.is_some()
}

/// The header alone; none where there is none.
pub(crate) fn header(file: &File) -> io::Result<Option<Header>> {
    let mut bytes = [0; HEADER];
    let len = read_at(file, &mut bytes, 0)?;
    Ok(Header::parse(&bytes[..len]))
}

fn copy(file: &File) -> io::Result<Result<View, Damage>> {
    let Some(header) = header(file)? else {
        return Ok(Err(Damage::NoHeader));
    };
    let len = header.committed.checked_sub(header.drained);
    let aligned = header.committed.is_multiple_of(8) && header.drained.is_multiple_of(8);
    let Some(len) = len.filter(|len| aligned && *len <= RING as u64) else {
        return Ok(Err(Damage::Header));
    };
    let mut bytes = vec![0; len as usize];
    let (at, first) = split(header.drained, bytes.len());
    let (head, tail) = bytes.split_at_mut(first);
    let mut got = read_at(file, head, (HEADER + at) as u64)?;
    if got == first {
        got += read_at(file, tail, HEADER as u64)?;
    }
    let missing = (bytes.len() - got) as u64;
    bytes.truncate(got);
    Ok(Ok(View {
        header,
        bytes,
        damage: (missing > 0).then_some(Damage::Short { missing }),
    }))
}

/// Reads until the buffer or the file ends.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

impl View {
    /// The rows that follow row `last`, whose hash is `head`, and what was wrong behind them.
    pub(crate) fn rows_after(&self, last: u64, head: &Hash) -> (Vec<Recovered>, Option<Damage>) {
        let mut rows: Vec<Recovered> = Vec::new();
        let (mut last, mut head) = (last, *head);
        let mut at = 0;
        while at < self.bytes.len() {
            let position = self.header.drained + at as u64;
            let torn = self.damage.clone().unwrap_or(Damage::Torn { position });
            let Some(frame) = Frame::parse(&self.bytes[at..]) else {
                return (rows, Some(torn));
            };
            let json = std::str::from_utf8(frame.json).ok();
            let event = json.and_then(|json| serde_json::from_str::<Event>(json).ok());
            let (Some(json), Some(event)) = (json, event) else {
                return (rows, Some(torn));
            };
            at += frame.len;
            // The writer was killed between its commit and giving back the room.
            if event.id <= last {
                continue;
            }
            if event.id != last + 1 {
                let (expected, found) = (last + 1, event.id);
                return (rows, Some(Damage::Gap { expected, found }));
            }
            if chain::link(&head, frame.json) != frame.hash {
                return (rows, Some(Damage::Chain { row: event.id }));
            }
            (last, head) = (event.id, frame.hash);
            let json = json.to_owned();
            rows.push(Recovered {
                event,
                json,
                hash: frame.hash,
            });
        }
        (rows, self.damage.clone())
    }
}

#[cfg(test)]
#[path = "recovery_tests.rs"]
mod tests;
