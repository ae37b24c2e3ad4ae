//! What an index has a working tree hold.

use super::{FOLDER, GITLINK, LINK, Site, id_of_file, parsed, read, width};
use rustix::fs::Stat;
use std::borrow::Cow;
use std::cell::Cell;

/// An entry of an index: a file, a link, the folder of another repository, or one of a sparse index.
#[derive(Debug)]
pub(crate) struct Indexed<'a> {
    /// Empty where the entry replaces one of another index that is not known.
    pub(crate) path: Cow<'a, [u8]>,
    mode: u32,
    pub(crate) id: &'a [u8],
    /// Git checks it out when it checks out everything.
    pub(crate) is_checked_out: bool,
}

impl Indexed<'_> {
    /// Whether it is a symbolic link.
    pub(crate) fn is_link(&self) -> bool {
        self.mode == LINK
    }

    /// Whether git makes a folder of it, in which another repository may be.
    pub(crate) fn is_repository(&self) -> bool {
        self.mode == GITLINK
    }

    /// Whether git would make what is there executable, or take that away, as lstat shows it.
    pub(crate) fn has_other_mode(&self, file: &Stat) -> bool {
        let executable = |mode: u32| mode & 0o100 != 0;
        executable(self.mode) != executable(file.st_mode)
    }

    /// Whether it stands for all that a tree holds.
    pub(crate) fn is_folder(&self) -> bool {
        self.mode == FOLDER
    }

    /// Whether it has a file hold what another entry at the path has it hold, and git checks it out no sooner.
    pub(crate) fn adds_nothing_to(&self, other: &Indexed<'_>) -> bool {
        let same = (self.mode, self.id) == (other.mode, other.id);
        same && (other.is_checked_out || !self.is_checked_out)
    }

    /// What it is by its mode, and the name of its object.
    pub(crate) fn entry(&self) -> (u32, &[u8]) {
        (self.mode, self.id)
    }

    /// Whether the entry is of a file, or a link, with this content.
    pub(crate) fn says(&self, content: &[u8]) -> bool {
        id_of_file(content, self.id.len()) == self.id
    }
}

/// An index, with the one that it is a change of, whose entries it may have replaced or left out.
#[derive(Debug)]
pub(crate) struct Whole {
    text: Vec<u8>,
    /// Empty where it is no change, or the other is not there.
    shared: Vec<u8>,
    /// The length of their ids.
    width: usize,
}

impl Whole {
    /// # Errors
    /// Why the index, or the other, cannot be read.
    pub(crate) fn of(text: Vec<u8>, site: &Site<'_>) -> Result<Self, String> {
        let width = width(&text, site)?;
        let shared = read(&text, width)?.shared(site).unwrap_or_default();
        if !shared.is_empty() {
            parsed(&shared, site)?;
        }
        Ok(Self {
            text,
            shared,
            width,
        })
    }

    /// Its files, in order, and those of the other; more than one at a path where they conflict.
    ///
    /// # Errors
    /// None that [`Whole::of`] has not had.
    pub(crate) fn files(&self) -> Result<Vec<Indexed<'_>>, String> {
        let shared = match self.shared.as_slice() {
            [] => None,
            shared => Some(read(shared, self.width)?),
        };
        let own = read(&self.text, self.width)?.entries_of(shared.as_ref());
        let others = shared.map(|shared| shared.entries_of(None));
        let all = own.into_iter().chain(others.into_iter().flatten());
        let files = all.map(|entry| Indexed {
            path: entry.path,
            mode: entry.mode,
            id: entry.id,
            is_checked_out: !entry.skipped,
        });
        Ok(files.collect())
    }
}

/// The files of an index by their paths.
pub(crate) struct ByPath<'a> {
    sorted: Vec<&'a Indexed<'a>>,
    /// Behind what was asked about last: most is asked about in order.
    next: Cell<usize>,
}

impl<'a> ByPath<'a> {
    pub(crate) fn of(files: &'a [Indexed<'a>]) -> Self {
        let mut sorted: Vec<_> = files.iter().collect();
        // They are in order but for those of a second index.
        sorted.sort_by(|a, b| a.path.cmp(&b.path));
        Self {
            sorted,
            next: Cell::new(0),
        }
    }

    /// Those at a path: more than one where they conflict.
    pub(crate) fn at(&self, path: &[u8]) -> &[&'a Indexed<'a>] {
        let next = self.next.get();
        let is_at = |at: usize| self.sorted.get(at).is_some_and(|file| *file.path == *path);
        let begin = match is_at(next) && !next.checked_sub(1).is_some_and(is_at) {
            true => next,
            false => self.sorted.partition_point(|file| *file.path < *path),
        };
        let all = &self.sorted[begin..];
        let count = all.iter().take_while(|file| *file.path == *path).count();
        self.next.set(begin + count);
        &all[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(path: &str, mode: u32) -> Indexed<'_> {
        Indexed {
            path: Cow::Borrowed(path.as_bytes()),
            mode,
            id: &[],
            is_checked_out: true,
        }
    }

    proptest! {
        #[test]
        fn all_files_at_a_path_are_found_in_any_order(
            paths in prop::collection::vec("[ab]{0,2}", 0..12),
            asked in prop::collection::vec("[ab]{0,2}", 0..24),
        ) {
            let files: Vec<_> = (0..).zip(&paths).map(|(mode, path)| file(path, mode)).collect();
            let known = ByPath::of(&files);
            for path in asked {
                let found: Vec<u32> = known.at(path.as_bytes()).iter().map(|file| file.mode).collect();
                let meant = files.iter().filter(|file| *file.path == *path.as_bytes());
                prop_assert_eq!(found, meant.map(|file| file.mode).collect::<Vec<_>>());
            }
        }
    }
}
