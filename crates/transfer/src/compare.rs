//! What became of a folder: two listings side by side.

use crate::entry::{Entry, Kind};
use crate::stream::Reader;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

/// What the entries that are kept at once may take, in bytes: a million files with paths of 60 bytes. A
/// guest may tell of more than it has.
const KEPT: usize = 256 << 20;
/// What the allocator adds to an entry's two or three allocations, in bytes.
const ALLOCATIONS: usize = 32;

/// Room for entries of somebody hostile.
#[derive(Debug)]
pub struct Room(pub(crate) usize);

impl Default for Room {
    fn default() -> Self {
        Self(KEPT)
    }
}

impl Room {
    /// Takes as much as an entry needs in a map by its path.
    ///
    /// # Errors
    /// There is not so much.
    pub fn take(&mut self, entry: &Entry) -> io::Result<()> {
        let target = match &entry.kind {
            Kind::Link { target } => target.len(),
            _ => 0,
        };
        let held = size_of::<(Vec<u8>, Entry)>() + ALLOCATIONS + 2 * entry.path.len() + target;
        let left = self.0.checked_sub(held).ok_or_else(|| {
            io::Error::other(format!(
                "more files than can be kept in mind: their paths take more than {} MiB",
                KEPT >> 20
            ))
        })?;
        self.0 = left;
        Ok(())
    }
}

/// The entries of a folder, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing(pub BTreeMap<Vec<u8>, Entry>);

impl Listing {
    /// Reads a listing.
    ///
    /// # Errors
    /// Those of the stream; more entries than there is [`Room`] for.
    pub fn read(from: impl Read) -> io::Result<Self> {
        Self::take(&mut Reader::listing(from))
    }

    /// Reads a listing that something else follows.
    ///
    /// # Errors
    /// See [`Listing::read`].
    pub fn take(from: &mut Reader<impl Read>) -> io::Result<Self> {
        Self::within(Room::default(), from)
    }

    fn within(mut room: Room, from: &mut Reader<impl Read>) -> io::Result<Self> {
        let mut all = BTreeMap::new();
        while let Some(entry) = from.entry()? {
            room.take(&entry)?;
            all.insert(entry.path.clone(), entry);
        }
        Ok(Self(all))
    }

    /// What could not be read.
    fn unread(&self) -> impl Iterator<Item = &[u8]> {
        let unread = |entry: &&Entry| matches!(entry.kind, Kind::Skipped { .. });
        self.0
            .values()
            .filter(unread)
            .map(|entry| entry.path.as_slice())
    }
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It is another, or has other contents or permissions.
    Changed,
    /// It is gone.
    Gone,
}

/// What became of a folder, by path.
pub type Changes = BTreeMap<Vec<u8>, Change>;

/// What became of a folder. What could not be read in either is left alone, and what lies below it.
#[must_use]
pub fn compare(before: &Listing, after: &Listing) -> Changes {
    let unread: BTreeSet<&[u8]> = before.unread().chain(after.unread()).collect();
    let mut changes = Changes::new();
    for (path, now) in &after.0 {
        let change = match before.0.get(path) {
            None => Change::Added,
            Some(then) if then.is_as(now) => continue,
            Some(_) => Change::Changed,
        };
        changes.insert(path.clone(), change);
    }
    for path in before.0.keys().filter(|path| !after.0.contains_key(*path)) {
        changes.insert(path.clone(), Change::Gone);
    }
    if !unread.is_empty() {
        changes.retain(|path, _| !with_above(path).any(|path| unread.contains(path)));
    }
    changes
}

/// A path and those of the folders that it lies in, of which the first is the empty path.
pub fn with_above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let above = slashes.map(|(at, _)| path.get(..at).unwrap_or_default());
    [b"".as_slice(), path].into_iter().chain(above)
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
