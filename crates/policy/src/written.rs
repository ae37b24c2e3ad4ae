//! Which folders the sandboxes of this user could ever write, run by run. A link in such a folder may be
//! a sandbox's work long after that run has ended, so whoever follows links asks here who may have
//! made them ([`crate::Foreign`]).
//!
//! The list is a file beside the trust store: one canonical folder a line, its bytes escaped as Rust
//! escapes them. A line stands before the command starts that may write the folder; a start whose folders
//! are all covered by lines only reads the file.

use crate::lists::{List, add, escaped, is_in, lines};
use std::path::{Path, PathBuf};

/// The name of the file.
pub(crate) const NAME: &str = "written";

/// The folders that are remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    file: PathBuf,
    /// The file's lines, the oldest first.
    text: Vec<u8>,
}

impl Written {
    /// Reads the list; where there is none, no sandbox ran.
    ///
    /// # Errors
    /// A message for the user: it cannot be read, others may have changed it, or it is damaged. Nothing
    /// is started without it, because nobody knows then who has made a link.
    pub fn read(file: &Path) -> Result<Self, String> {
        Ok(Self {
            file: file.to_path_buf(),
            text: list(file).read()?,
        })
    }

    /// Adds folders to the list in a file, where no line covers them yet. They are canonical.
    ///
    /// # Errors
    /// A message for the user, as of [`Written::read`]; or the file cannot be written.
    pub fn remember(file: &Path, folders: &[PathBuf]) -> Result<(), String> {
        list(file).change(|text| {
            let covers = |text: &[u8], folder: &[u8]| lines(text).any(|line| is_in(folder, line));
            let mut changed = text.clone();
            for folder in folders.iter().map(|folder| escaped(folder)) {
                if !covers(&changed, &folder) {
                    // It takes the place of those in it, which could be written as well.
                    changed = add(&changed, &folder, |known| is_in(known, &folder));
                }
            }
            changed
        })
    }

    /// The line of the list, as it stands there, whose folder a path is or lies in.
    #[must_use]
    pub fn line_over(&self, path: &Path) -> Option<String> {
        if self.text.is_empty() {
            return None;
        }
        let path = escaped(path);
        let over = lines(&self.text).find(|line| is_in(&path, line))?;
        Some(String::from_utf8_lossy(over).into_owned())
    }

    /// Where the list is.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }
}

/// The list in a file.
fn list(file: &Path) -> List<'_> {
    List {
        file,
        what: "the list of folders that sandboxes could write",
        mend: "remove it when you have looked at the symbolic links in the folders in which you ran sandboxes: \
               they are followed from then on",
    }
}

#[cfg(test)]
#[path = "written_tests.rs"]
mod tests;
