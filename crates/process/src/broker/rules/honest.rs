//! What an index says of files that are protected. Git takes a file for unchanged whose times and length are those in
//! the index, and writes over it; an index that a program has made could say so of one that the user has changed.

use super::brought::may_be_of_repository;
use super::parts_of_names::Parts;
use super::{Left, Name, Rules};
use crate::git::{self, Content, Recorded, Site};
use crate::paths::below;
use bailiwick_policy::PathGlob;
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
    /// What each had of files that may concern somebody when it was looked at last, as a number.
    states: BTreeMap<PathBuf, u64>,
    /// Files that no program could make, of which one has others than before, and nobody was told of that yet.
    others: Vec<PathBuf>,
}

impl Rules {
    /// The same index without what it says of protected files that nobody has compared with it, so that git looks
    /// itself; none where there is nothing to change. What the index before says of them stays: `old` is its text, and
    /// `withheld` are files that git was kept from checking out. Files that no program could make, of which it has others
    /// now, are noted.
    ///
    /// # Errors
    /// It cannot be read, or it is a shared one that would have to be changed: its name is its checksum.
    pub(crate) fn honest(
        &self,
        content: Content,
        text: &[u8],
        old: &dyn Fn() -> Vec<u8>,
        withheld: &BTreeMap<Vec<u8>, Option<git::Seen>>,
        site: &Site<'_>,
    ) -> Result<Option<Vec<u8>>, String> {
        if !content.is_index() {
            return Ok(None);
        }
        let tree = git::tree_of_index(site);
        let tops = match &tree {
            Some(tree) => std::slice::from_ref(tree),
            // Whoever runs git says where its working tree is.
            None => self.kept.as_slice(),
        };
        let parts = Parts::of(self);
        let named = |path: &[u8]| parts.may_be_in(path) || may_be_of_repository(path);
        let mut found = git::recorded(text, site, &named)?;
        // What was there of these was compared, and the index says that.
        found.retain(|entry| !matches!(withheld.get(entry.path.as_slice()), Some(Some(_))));
        let known = OnceCell::new();
        let is_known = |entry: &Recorded, same: fn(&Recorded, &Recorded) -> bool| {
            let read = || {
                let mut known: HashMap<Vec<u8>, Vec<Recorded>> = HashMap::new();
                let old = old();
                let shared = git::shared_of(&old, site).unwrap_or_default();
                for text in [old, shared] {
                    for entry in git::recorded(&text, site, &named).unwrap_or_default() {
                        known.entry(entry.path.clone()).or_default().push(entry);
                    }
                }
                known
            };
            let there = known.get_or_init(read).get(&entry.path);
            there.is_some_and(|there| there.iter().any(|known| same(known, entry)))
        };
        if self.changed(site.path, &found) {
            let new = found.iter();
            let new = new.filter(|entry| !withheld.contains_key(entry.path.as_slice()));
            let new: Vec<_> = new
                .filter(|entry| !is_known(entry, Recorded::has_same))
                .collect();
            let others = self.brought_by_index(&new, &found, tops, site);
            self.indexes.borrow_mut().others.extend(others);
        }
        let ends = self.ends_of_patterns();
        let is_doubted = |entry: &Recorded| {
            let compared = || tree.as_ref().is_some_and(|tree| self.is_true(tree, entry));
            let protected = || {
                tops.iter()
                    .any(|top| self.is_refused(&self.file_of(top, entry)))
            };
            let concerns = self.is_protected_elsewhere(entry, &ends) || protected();
            entry.may_be_believed() && concerns && !is_known(entry, Recorded::is) && !compared()
        };
        found.retain(is_doubted);
        match found.first() {
            Some(entry) if content == Content::SharedIndex => Err(format!(
                "it would have git take a protected file for unchanged that nobody compared: {}",
                String::from_utf8_lossy(&entry.path)
            )),
            lie => Ok(lie.map(|_| git::unsaid(text, &found))),
        }
    }

    /// What is to be told of indexes.
    pub(crate) fn take_index_files(&self) -> Vec<Left> {
        let others = std::mem::take(&mut self.indexes.borrow_mut().others);
        others
            .iter()
            .filter_map(|file| self.left_index(file))
            .collect()
    }

    /// Whether an index has other files than when it was looked at last, as far as they may concern somebody.
    fn changed(&self, index: &Path, found: &[Recorded]) -> bool {
        let mut hasher = DefaultHasher::new();
        for entry in found {
            (&entry.path, entry.file()).hash(&mut hasher);
        }
        let state = hasher.finish();
        let mut indexes = self.indexes.borrow_mut();
        let old = indexes.states.insert(index.to_path_buf(), state);
        old != Some(state)
    }

    /// The file of an entry.
    fn file_of(&self, tree: &Path, entry: &Recorded) -> PathBuf {
        below(self.root(), &tree.join(OsStr::from_bytes(&entry.path)))
    }

    /// The last parts of patterns that protect.
    fn ends_of_patterns(&self) -> Vec<Option<PathGlob>> {
        let patterns = self.names.iter().filter_map(|(_, name)| match name {
            Name::Glob { glob, .. } => Some(glob.rsplit('/').next().unwrap_or_default()),
            Name::Whole(_) | Name::Anywhere { .. } => None,
        });
        patterns.map(|end| PathGlob::new(end).ok()).collect()
    }

    /// Whether the file of an entry may be protected in some other working tree, to which the git folder may come; or
    /// nobody knows which file it is. `ends` are the last parts of patterns.
    fn is_protected_elsewhere(&self, entry: &Recorded, ends: &[Option<PathGlob>]) -> bool {
        let path = Path::new(OsStr::from_bytes(&entry.path));
        let ends_so = |(_, name): &(u32, Name)| match name {
            Name::Whole(whole) => path.ancestors().any(|above| is_end(whole, above)),
            Name::Anywhere { .. } | Name::Glob { .. } => false,
        };
        // A pattern that cannot be understood protects everything.
        let matches = |end: &Option<PathGlob>| match end {
            Some(end) => path.iter().any(|part| end.is_match(Path::new(part))),
            None => true,
        };
        path.as_os_str().is_empty() || self.names.iter().any(ends_so) || ends.iter().any(matches)
    }

    /// Whether the file of an entry is there, as the entry says, and holds what it is to hold.
    fn is_true(&self, tree: &Path, entry: &Recorded) -> bool {
        let path = self.file_of(tree, entry);
        let stat = statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW);
        if !stat.is_ok_and(|stat| entry.is_of(&git::Seen::from(&stat))) {
            return false;
        }
        let content = match path.read_link() {
            Ok(target) => Some(target.into_os_string().into_encoded_bytes()),
            Err(_) => super::super::content_of(&path, LARGEST).ok(),
        };
        content.is_some_and(|content| entry.says(&content))
    }
}

/// Whether a path ends with these components, of which there is one at least.
fn is_end(path: &Path, components: &Path) -> bool {
    !components.as_os_str().is_empty() && path.ends_with(components)
}
