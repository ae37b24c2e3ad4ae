//! Which policy files this user gave runs, and which programs of the user's gave them secrets, where a sandbox could
//! write them: no later run changes one in its workspace, and one that is not as it was is told when it is used again.
//! A run that had begun before may still have changed it.
//!
//! The list is a file beside the trust store: a canonical path a line, its bytes escaped as Rust escapes them, a tab,
//! and the BLAKE3 hash of what was used, in hexadecimal digits. A line without a hash keeps a file that
//! nobody was told of yet, or that could not be read.

use crate::lists::{List, add, escaped, lines, path_of};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The name of the file.
const NAME: &str = "policies";

/// A file that was used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UsedFile {
    /// Where it is; canonical.
    pub path: PathBuf,
    /// The BLAKE3 hash of what stood in it, in hexadecimal digits; none where it could not be read.
    pub hash: Option<String>,
}

/// What the list says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It was used as it is.
    Same,
    /// It was used when it was otherwise.
    Changed,
    /// It was never used, or not as far as the list goes back.
    Never,
}

/// The list.
pub struct Used {
    text: Vec<u8>,
}

impl UsedFile {
    /// A file that holds these bytes.
    pub(crate) fn new(path: PathBuf, bytes: Option<&[u8]>) -> Self {
        let hash = bytes.map(|bytes| blake3::hash(bytes).to_hex().to_string());
        Self { path, hash }
    }

    fn line(&self) -> Vec<u8> {
        let mut line = escaped(&self.path);
        if let Some(hash) = &self.hash {
            line.push(b'\t');
            line.extend_from_slice(hash.as_bytes());
        }
        line
    }
}

impl Used {
    /// Reads the list that stands beside the list of folders in `written`.
    ///
    /// # Errors
    /// A message for the user: it cannot be read, others may have changed it, or it is damaged.
    pub(crate) fn beside(written: &Path) -> Result<Self, String> {
        let text = list(&written.with_file_name(NAME)).read()?;
        Ok(Self { text })
    }

    /// Writes down what was used, in the list that stands beside the list of folders in `written`.
    ///
    /// # Errors
    /// A message for the user: the list cannot be read, others may have changed it, it is damaged, or it cannot be
    /// written.
    pub fn remember(written: &Path, files: &[UsedFile]) -> Result<(), String> {
        list(&written.with_file_name(NAME)).change(|text| {
            let mut changed = text.clone();
            for (file, line) in files.iter().map(|file| (escaped(&file.path), file.line())) {
                if !lines(&changed).any(|known| known == line) {
                    changed = add(&changed, &line, |known| split(known).0 == file);
                }
            }
            changed
        })
    }

    /// Writes down files that are to be used, and that nobody was told of yet: no later run changes them.
    ///
    /// # Errors
    /// As of [`Used::remember`].
    pub fn keep(written: &Path, files: &[UsedFile]) -> Result<(), String> {
        let known = Self::beside(written)?;
        let new = files.iter().filter(|file| known.line(&file.path).is_none());
        let new: Vec<UsedFile> = new
            .map(|file| UsedFile {
                hash: None,
                ..file.clone()
            })
            .collect();
        Self::remember(written, &new)
    }

    /// What the list says of a file.
    pub(crate) fn of(&self, file: &UsedFile) -> Use {
        let known = self.line(&file.path).and_then(|line| split(line).1);
        match known {
            None => Use::Never,
            Some(hash) if file.hash.as_deref().map(str::as_bytes) == Some(hash) => Use::Same,
            Some(_) => Use::Changed,
        }
    }

    fn line(&self, path: &Path) -> Option<&[u8]> {
        let path = escaped(path);
        lines(&self.text).find(|line| split(line).0 == path)
    }

    /// All files of the list.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        lines(&self.text).map(|line| path_of(split(line).0))
    }
}

/// The path and the hash of a line, as they stand there.
fn split(line: &[u8]) -> (&[u8], Option<&[u8]>) {
    match line.iter().position(|byte| *byte == b'\t') {
        Some(at) => (&line[..at], Some(&line[at + 1..])),
        None => (line, None),
    }
}

/// The list in a file.
fn list(file: &Path) -> List<'_> {
    List {
        file,
        what: "the list of policy files that were used",
        mend: "remove it when you have read your policies that lie in workspaces: sandboxes may write them from \
               then on, until they are used again",
    }
}

#[cfg(test)]
#[path = "used_tests.rs"]
mod tests;
