//! An index that is a change of another, which is the file `sharedindex.ID` beside it.

use super::{Entry, Index, Site, parsed};
use crate::git::content::Content;
use crate::git::ewah::Bits;
use crate::paths;
use std::borrow::Cow;
use std::fs;

/// What an index that is a change of another says of that.
pub(super) struct Change<'a> {
    /// The checksum of the other, by which it is called.
    id: &'a [u8],
    /// The entries of the other that its first entries replace, and whose paths these have.
    pub(super) replaced: Bits<'a>,
}

impl<'a> Change<'a> {
    fn read(body: &'a [u8], width: usize) -> Result<Self, String> {
        if body.len() < width {
            return Err("it does not say of which index it is a change".to_owned());
        }
        let (id, mut bits) = body.split_at(width);
        // Git takes the entries for a whole index then.
        if id.iter().all(|&b| b == 0) {
            return Err("it is a change of no index".to_owned());
        }
        Bits::read(&mut bits)?;
        let replaced = Bits::read(&mut bits)?;
        if !bits.is_empty() {
            return Err("something follows its bitmaps".to_owned());
        }
        Ok(Self { id, replaced })
    }
}

impl<'a> Index<'a> {
    /// What it says of the index that it is a change of.
    pub(super) fn change(&self) -> Result<Option<Change<'a>>, String> {
        let mut changes = self.extensions.iter().filter(|(name, _)| name == b"link");
        let change = changes.next();
        if changes.next().is_some() {
            return Err("it is a change of two others".to_owned());
        }
        let read = |(_, body): &(_, &'a [u8])| Change::read(body, self.width);
        let change = change.map(read).transpose()?;
        let replaces = change.as_ref().map_or(0, |change| change.replaced.count);
        match replaces <= self.entries.len() {
            true => Ok(change),
            false => Err("it replaces more entries than it has".to_owned()),
        }
    }
}

/// The text of the index that this one is a change of; none where it is none, or where that is not there.
pub(crate) fn shared_of(bytes: &[u8], site: &Site<'_>) -> Option<Vec<u8>> {
    parsed(bytes, site).ok()?.shared(site)
}

impl Index<'_> {
    /// The text of the index that this one is a change of; none where it is none, or where that is not there.
    pub(super) fn shared(&self, site: &Site<'_>) -> Option<Vec<u8>> {
        let change = self.change().ok()??;
        let id: String = change.id.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = site.folder().join(format!("sharedindex.{id}"));
        let path = paths::below(site.root, &path);
        let meta = fs::symlink_metadata(&path).ok()?;
        if !meta.is_file() || meta.len() > Content::SharedIndex.limit() as u64 {
            return None;
        }
        let text = fs::read(path).ok()?;
        text.ends_with(change.id).then_some(text)
    }
}

impl<'a> Index<'a> {
    /// Its entries with their paths; an empty path where it is that of another index and not known. `shared` is the index
    /// that this one is a change of, none where it is no change or that is not known.
    pub(super) fn entries_of(self, shared: Option<&Index<'_>>) -> Vec<Entry<'a>> {
        let path = |place: usize| Some(shared?.entries.get(place)?.path.to_vec());
        let paths: Vec<Vec<u8>> = match self.change() {
            Ok(Some(Change { replaced, .. })) => {
                let places = replaced.places().take(replaced.count);
                places.map(|at| path(at).unwrap_or_default()).collect()
            }
            _ => Vec::new(),
        };
        let mut entries = self.entries;
        for (entry, path) in entries.iter_mut().zip(paths) {
            entry.path = Cow::Owned(path);
        }
        entries
    }

    /// Whether entries have their paths in the index that this one is a change of.
    pub(super) fn replaces(&self) -> bool {
        let change = self.change().ok().flatten();
        change.is_some_and(|change| change.replaced.count > 0)
    }
}
