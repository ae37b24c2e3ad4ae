//! Files that a sandbox gets as a copy of its workspace's own (`[filesystem] copy`): a program outside would obey
//! what is written to the user's.

use crate::meant::literal;
use crate::paths;
use crate::plan::{Access, private_folder, refused, shown};
use crate::wanted::Granted;
use bailiwick_event::Failure;
use bailiwick_policy::PathEntry;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that are to be copied, without those that are not there.
pub(crate) fn wanted<'p>(
    entries: &'p [PathEntry],
    lost: &mut Vec<String>,
) -> Result<Vec<Granted<'p>>, Failure> {
    let rule = "filesystem.copy";
    let mut copies = Vec::new();
    for entry in entries {
        let path = literal(rule, entry)?;
        match paths::resolve(path) {
            None => lost.push(shown(path).to_string()),
            Some(way) if way.folder => {
                let resource = format!("{} is a folder", shown(path));
                let remedy = "name the files in it that are needed; a folder may be private, and is empty then";
                return Err(refused(rule, entry, resource, remedy));
            }
            Some(way) => copies.push(Granted {
                rule,
                entry,
                access: Access::Private,
                way,
            }),
        }
    }
    Ok(copies)
}

/// The file that stands behind a copy, made from the user's if it is missing.
pub(crate) fn made(private: &Path, path: &Path) -> Result<PathBuf, Failure> {
    let folder = private_folder(private, path)?;
    let copy = folder.join("copy");
    if copy.symlink_metadata().is_ok() {
        return Ok(copy);
    }
    // Whole or not there: another run may begin at the same time.
    let draft = folder.join(format!("draft-{}", std::process::id()));
    fs::copy(path, &draft)
        .and_then(|_| fs::rename(&draft, &copy))
        .map_err(|error| {
            let _ = fs::remove_file(&draft);
            Failure::fault(format!(
                "not started: {} cannot be copied for the sandbox: {error}",
                shown(path)
            ))
        })?;
    Ok(copy)
}
