//! What an index says of files that are protected. Git takes a file for unchanged whose times and length are those in
//! the index, and writes over it; an index that a program has made could say so of one that the user has changed.

use super::parts_of_names::Parts;
use super::{Name, Rules};
use crate::git::{self, Content, Recorded, Site};
use crate::paths::below;
use bailiwick_policy::PathGlob;
use rustix::fs::{AtFlags, CWD, statat};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file is compared that has at most so many bytes; of a longer one git looks itself.
pub(super) const LARGEST: usize = 16 << 20;

impl Rules {
    /// The same index without what it says of protected files that nobody has compared with it, so that git looks
    /// itself; none where there is nothing to change. What the index before says of them stays: `old` is its text, and
    /// `withheld` are files that git was kept from checking out.
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
        let protected = |entry: &Recorded| match &tree {
            Some(tree) => self.is_protected(tree, entry),
            // Whoever runs git says where its working tree is.
            None => self.kept.iter().any(|top| self.is_protected(top, entry)),
        };
        let parts = Parts::of(self);
        let named = |path: &[u8]| parts.may_be_in(path);
        let mut found = git::recorded(text, site, &named)?;
        // What was there of these was compared, and the index says that.
        found.retain(|entry| !matches!(withheld.get(entry.path.as_slice()), Some(Some(_))));
        let known = OnceCell::new();
        let is_known = |entry: &Recorded| {
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
            there.is_some_and(|there| there.iter().any(|known| known.is(entry)))
        };
        let ends = self.ends_of_patterns();
        let is_doubted = |entry: &Recorded| {
            let compared = || tree.as_ref().is_some_and(|tree| self.is_true(tree, entry));
            let concerns = || self.is_protected_elsewhere(entry, &ends) || protected(entry);
            entry.may_be_believed() && concerns() && !is_known(entry) && !compared()
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

    /// The file of an entry.
    fn file_of(&self, tree: &Path, entry: &Recorded) -> PathBuf {
        below(self.root(), &tree.join(OsStr::from_bytes(&entry.path)))
    }

    /// Whether the file of an entry is protected in this working tree.
    fn is_protected(&self, tree: &Path, entry: &Recorded) -> bool {
        self.is_refused(&self.file_of(tree, entry))
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
