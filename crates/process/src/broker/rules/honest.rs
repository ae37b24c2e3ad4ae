//! What an index says of files that are protected. Git takes a file for unchanged whose times and length are those in
//! the index, and writes over it; an index that a program has made could say so of one that the user has changed.

use super::parts_of_names::Parts;
use super::{Rules, Verdict};
use crate::git::{self, Recorded, Site};
use crate::paths::below;
use rustix::fs::{AtFlags, CWD, statat};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file is compared that has at most so many bytes; of a longer one git looks itself.
const LARGEST: usize = 16 << 20;

impl Rules {
    /// The same index where it says of protected files that they are as it has them, and they are not: without that,
    /// so that git looks itself; none where there is nothing to change. `old` is what has its name until now, and
    /// `withheld` are files that git was kept from checking out.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn honest(
        &self,
        text: &[u8],
        old: &dyn Fn() -> Vec<u8>,
        withheld: &BTreeMap<Vec<u8>, Option<git::Seen>>,
        site: &Site<'_>,
    ) -> Result<Option<Vec<u8>>, String> {
        let tree = git::tree_of_index(site);
        let is_doubted = |entry: &Recorded| match &tree {
            Some(tree) => self.is_doubted(tree, entry),
            // Whoever runs git says where its working tree is.
            None => self
                .kept
                .iter()
                .any(|top| self.is_protected(top, entry).is_some()),
        };
        let parts = Parts::of(self);
        let named = |path: &[u8]| {
            path.split(|&b| b == b'/')
                .any(|part| parts.may_be_named(part))
        };
        let mut doubted = git::recorded(text, site, &named)?;
        doubted.retain(|entry| !withheld.contains_key(entry.path.as_slice()) && is_doubted(entry));
        if doubted.is_empty() {
            return Ok(None);
        }
        let known = git::recorded(&old(), site, &named).unwrap_or_default();
        doubted.retain(|entry| !known.iter().any(|known| known.is(entry)));
        Ok((!doubted.is_empty()).then(|| git::unsaid(text, &doubted)))
    }

    /// The file of an entry, where it is protected in this working tree.
    fn is_protected(&self, tree: &Path, entry: &Recorded) -> Option<PathBuf> {
        let path = below(self.root(), &tree.join(OsStr::from_bytes(&entry.path)));
        matches!(self.decide(&path), Verdict::Refuse(_)).then_some(path)
    }

    /// Whether git would take a protected file for the one that the index has, and it is another.
    fn is_doubted(&self, tree: &Path, entry: &Recorded) -> bool {
        let Some(path) = self.is_protected(tree, entry) else {
            return false;
        };
        let Ok(stat) = statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW) else {
            return false;
        };
        if !entry.may_be_taken_for(&git::Seen::from(&stat)) {
            return false;
        }
        let content = match path.read_link() {
            Ok(target) => target.into_os_string().into_encoded_bytes(),
            Err(_) => match super::super::content_of(&path, LARGEST) {
                Ok(content) => content,
                Err(_) => return true,
            },
        };
        !entry.says(&content)
    }
}
