//! What entries of a policy mean in the file system as it is.

use crate::plan::{refused, shown};
use crate::walk::{self, Budget, Matches, WalkError};
use bailiwick_event::Failure;
use bailiwick_policy::{PathEntry, PathPattern};
use std::path::{Path, PathBuf};

/// The paths that an entry means here and now.
pub(crate) fn existing(rule: &str, entry: &PathEntry) -> Result<Vec<PathBuf>, Failure> {
    meant(rule, entry, walk::matches).map(|meant| meant.paths)
}

/// The same of an entry that denies: also by the names of links to folders, and with the folders that may hold
/// others.
pub(crate) fn denied(rule: &str, entry: &PathEntry) -> Result<Matches, Failure> {
    meant(rule, entry, walk::denied)
}

fn meant(
    rule: &str,
    entry: &PathEntry,
    find: impl Fn(&Path, &str, Budget) -> Result<Matches, WalkError>,
) -> Result<Matches, Failure> {
    match &entry.pattern {
        PathPattern::Path(path) => Ok(Matches {
            paths: vec![path.clone()],
            ..Matches::default()
        }),
        PathPattern::Glob { root, glob } => {
            find(root, glob, Budget::START).map_err(|error| match error {
                WalkError::Glob(message) => refused(rule, entry, message, "mend the pattern"),
                WalkError::Budget(seen) => refused(
                    rule,
                    entry,
                    format!(
                        "{glob} cannot be applied to all of {}: more than {seen} entries",
                        shown(root)
                    ),
                    "name the folders (\"config/**/.env\"), or take a smaller workspace",
                ),
                WalkError::Io(path, error) => {
                    Failure::fault(format!("{} cannot be searched: {error}", shown(&path)))
                }
            })
        }
    }
}

/// The path of an entry that must be one path.
pub(crate) fn literal<'a>(rule: &str, entry: &'a PathEntry) -> Result<&'a Path, Failure> {
    match &entry.pattern {
        PathPattern::Path(path) => Ok(path),
        PathPattern::Glob { glob, .. } => Err(refused(
            rule,
            entry,
            format!("\"{glob}\" is a pattern, but the product must make one folder for it"),
            "write the path without wildcards",
        )),
    }
}
