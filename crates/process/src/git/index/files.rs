//! What an index has a working tree hold.

use super::split::{shared_of, with_paths};
use super::{FOLDER, GITLINK, LINK, Site, id_of_file};
use rustix::fs::Stat;

/// An entry of an index: a file, a link, the folder of another repository, or one of a sparse index.
#[derive(Debug)]
pub(crate) struct Indexed {
    /// Empty where the entry replaces one of another index that is not known.
    pub(crate) path: Vec<u8>,
    mode: u32,
    pub(crate) id: Vec<u8>,
    /// Git checks it out when it checks out everything.
    pub(crate) is_checked_out: bool,
}

impl Indexed {
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
    pub(crate) fn adds_nothing_to(&self, other: &Self) -> bool {
        let same = (self.mode, &self.id) == (other.mode, &other.id);
        same && (other.is_checked_out || !self.is_checked_out)
    }

    /// What it is by its mode, and the name of its object.
    pub(crate) fn entry(&self) -> (u32, &[u8]) {
        (self.mode, &self.id)
    }

    /// Whether the entry is of a file, or a link, with this content.
    pub(crate) fn says(&self, content: &[u8]) -> bool {
        id_of_file(content, self.id.len()) == self.id
    }
}

/// The files of an index, and of the one that it is a change of, whose entries it may have replaced or left out; more
/// than one at a path where they conflict.
///
/// # Errors
/// Why the index cannot be read.
pub(crate) fn files_of(text: &[u8], site: &Site<'_>) -> Result<Vec<Indexed>, String> {
    let mut files = Vec::new();
    let shared = shared_of(text, site).unwrap_or_default();
    for text in [text, shared.as_slice()] {
        if text.is_empty() {
            continue;
        }
        let entries = with_paths(text, site)?.into_iter();
        files.extend(entries.map(|(path, entry)| Indexed {
            path,
            mode: entry.mode,
            id: entry.id.to_vec(),
            is_checked_out: !entry.skipped,
        }));
    }
    Ok(files)
}
