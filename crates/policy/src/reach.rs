//! Which files the policies of a layer may name by `extends` and `packs`, and what a message may
//! show of them.
//!
//! Decision: a project's policy names files of its own folder, as its repository would have them, and
//! nothing else, whatever links say. Nothing of what stands in them is shown before they are known to
//! be policies: whoever wrote the project could otherwise have any file of the user's read aloud, in
//! the mistakes that are found in it.

use crate::source_text::{ReadError, SourceText};
use crate::workspace::{PROJECT, resolve_existing};
use std::path::{Path, PathBuf};

/// Which files the policies of a layer may name.
#[derive(Clone, Debug)]
pub(crate) enum Reach {
    /// Every file, each shown where it has mistakes: whoever names them may read them.
    Anywhere,
    /// Files of a project's folder, which is canonical.
    Below(PathBuf),
}

impl Reach {
    /// The reach of a project's policy.
    pub(crate) fn of_project(file: &Path) -> Self {
        let folder = file.parent().unwrap_or(Path::new("/"));
        Self::Below(resolve_existing(folder))
    }

    /// Reads a file, which people know as `shown`.
    pub(crate) fn read(&self, path: &Path, shown: &str) -> Result<SourceText, ReadError> {
        let Self::Below(folder) = self else {
            return SourceText::read(path, shown);
        };
        // Asked before anything is opened, so that neither what a path names nor whether it is there
        // makes a difference; and of what was opened, since links change.
        if !resolve_existing(path).starts_with(folder) {
            return Err(ReadError::Outside);
        }
        let source = SourceText::read(path, shown)?;
        let path = source.path.as_deref();
        match path.is_some_and(|path| path.starts_with(folder)) {
            true if path == Some(&folder.join(PROJECT)) => Ok(source),
            true => Ok(source.withheld()),
            false => Err(ReadError::Outside),
        }
    }
}

#[cfg(test)]
#[path = "reach_tests.rs"]
mod tests;
