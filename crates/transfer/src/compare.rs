//! What became of a folder: two listings side by side.

use crate::entry::{Entry, Kind};
use crate::stream::Reader;
use std::collections::BTreeMap;
use std::io::{self, Read};

/// The most entries of a listing: a guest may tell of more than it has.
const MOST: usize = 4_000_000;

/// The entries of a folder, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing(pub BTreeMap<Vec<u8>, Entry>);

impl Listing {
    /// Reads a listing.
    ///
    /// # Errors
    /// Those of the stream; more entries than a folder has.
    pub fn read(from: impl Read) -> io::Result<Self> {
        Self::take(&mut Reader::listing(from))
    }

    /// Reads a listing that something else follows.
    ///
    /// # Errors
    /// See [`Listing::read`].
    pub fn take(from: &mut Reader<impl Read>) -> io::Result<Self> {
        let mut all = BTreeMap::new();
        while let Some(entry) = from.entry()? {
            if all.len() >= MOST {
                return Err(io::Error::other("more files than can be listed"));
            }
            all.insert(entry.path.clone(), entry);
        }
        Ok(Self(all))
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

/// What became of a folder. What could not be read in either is left alone.
#[must_use]
pub fn compare(before: &Listing, after: &Listing) -> Changes {
    let skipped = |entry: &Entry| matches!(entry.kind, Kind::Skipped { .. });
    let mut changes = Changes::new();
    for (path, now) in &after.0 {
        let change = match before.0.get(path) {
            _ if skipped(now) => continue,
            None => Change::Added,
            Some(then) if skipped(then) || then.is_as(now) => continue,
            Some(_) => Change::Changed,
        };
        changes.insert(path.clone(), change);
    }
    for (path, then) in &before.0 {
        if !skipped(then) && !after.0.contains_key(path) {
            changes.insert(path.clone(), Change::Gone);
        }
    }
    changes
}
