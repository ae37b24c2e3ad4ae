//! What an index says of files that are protected. Git takes a file for unchanged whose times and length are those in
//! the index, and writes over it; an index that a program has made could say so of one that the user has changed.

use super::parts_of_names::Parts;
use super::{Left, Rules, Verdict};
use crate::git::{self, Recorded, Site};
use crate::paths::below;
use rustix::fs::{AtFlags, CWD, statat};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file is compared that has at most so many bytes; of a longer one git looks itself.
const LARGEST: usize = 16 << 20;

/// What is known of the indexes of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Indexes {
    /// What each had of protected files when it was looked at last, as a number.
    states: BTreeMap<PathBuf, u64>,
    /// Protected files of which one has others than before, and nobody was told of that yet.
    others: Vec<PathBuf>,
}

impl Rules {
    /// The same index where it says of protected files that they are as it has them, and they are not: without that,
    /// so that git looks itself; none where there is nothing to change. `old` is what has its name until now, and
    /// `withheld` are files that git was kept from checking out. Protected files of which it has others now are noted.
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
        let protected = |entry: &Recorded| match &tree {
            Some(tree) => self.is_protected(tree, entry),
            // Whoever runs git says where its working tree is.
            None => self
                .kept
                .iter()
                .find_map(|top| self.is_protected(top, entry)),
        };
        let parts = Parts::of(self);
        let named = |path: &[u8]| {
            path.split(|&b| b == b'/')
                .any(|part| parts.may_be_named(part))
        };
        let found = git::recorded(text, site, &named)?.into_iter();
        let found = found.filter(|entry| !withheld.contains_key(entry.path.as_slice()));
        let found = found.filter_map(|entry| Some((protected(&entry)?, entry)));
        let found: Vec<(PathBuf, Recorded)> = found.collect();
        let known = OnceCell::new();
        let is_known = |entry: &Recorded, same: fn(&Recorded, &Recorded) -> bool| {
            let read = || {
                let mut known: HashMap<Vec<u8>, Vec<Recorded>> = HashMap::new();
                for entry in git::recorded(&old(), site, &named).unwrap_or_default() {
                    known.entry(entry.path.clone()).or_default().push(entry);
                }
                known
            };
            let there = known.get_or_init(read).get(&entry.path);
            there.is_some_and(|there| there.iter().any(|known| same(known, entry)))
        };
        if self.changed(site.path, &found) {
            let others = found.iter();
            let others = others.filter(|(_, entry)| !is_known(entry, Recorded::has_same));
            let others = others.map(|(path, _)| path.clone());
            self.indexes.borrow_mut().others.extend(others);
        }
        let is_lie = |path: &Path, entry: &Recorded| match tree {
            Some(_) => self.is_doubted(path, entry),
            None => true,
        };
        let mut lies = Vec::new();
        for (path, entry) in found {
            if is_lie(&path, &entry) && !is_known(&entry, Recorded::is) {
                lies.push(entry);
            }
        }
        Ok((!lies.is_empty()).then(|| git::unsaid(text, &lies)))
    }

    /// What is to be told of indexes.
    pub(crate) fn take_index_files(&self) -> Vec<Left> {
        let others = std::mem::take(&mut self.indexes.borrow_mut().others);
        others
            .iter()
            .filter_map(|file| self.left_index(file))
            .collect()
    }

    /// Whether an index has other protected files than when it was looked at last.
    fn changed(&self, index: &Path, found: &[(PathBuf, Recorded)]) -> bool {
        let mut hasher = DefaultHasher::new();
        for (path, entry) in found {
            (path, entry.id()).hash(&mut hasher);
        }
        let state = hasher.finish();
        let mut indexes = self.indexes.borrow_mut();
        let old = indexes.states.insert(index.to_path_buf(), state);
        old != Some(state)
    }

    /// The file of an entry, where it is protected in this working tree.
    fn is_protected(&self, tree: &Path, entry: &Recorded) -> Option<PathBuf> {
        let path = below(self.root(), &tree.join(OsStr::from_bytes(&entry.path)));
        matches!(self.decide(&path), Verdict::Refuse(_)).then_some(path)
    }

    /// Whether git would take a protected file for the one that the index has, and it is another.
    fn is_doubted(&self, path: &Path, entry: &Recorded) -> bool {
        let Ok(stat) = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) else {
            return false;
        };
        if !entry.may_be_taken_for(&git::Seen::from(&stat)) {
            return false;
        }
        let content = match path.read_link() {
            Ok(target) => target.into_os_string().into_encoded_bytes(),
            Err(_) => match super::super::content_of(path, LARGEST) {
                Ok(content) => content,
                Err(_) => return true,
            },
        };
        !entry.says(&content)
    }
}
