//! The folders of the product's own that stand behind private paths.

use super::shown;
use crate::paths;
use bailiwick_event::Failure;
use bailiwick_policy::Foreign;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The failure where a folder of the product's own cannot be made.
pub(crate) fn not_made(folder: &Path, error: &io::Error) -> Failure {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space there, or set XDG_STATE_HOME to another disk"
        }
        _ => "set XDG_STATE_HOME to a folder of yours that can be written",
    };
    Failure::fault(format!(
        "{} cannot be made: {error}\n  {remedy}",
        shown(folder)
    ))
}

/// How many names at the end of a private folder's path are the product's own to give:
/// `bailiwick/projects/WORKSPACE/PATH`.
const OWN_NAMES: usize = 4;

/// A folder of the product's own by its path without links: nothing is mounted through one. One that
/// a sandbox could have put there must not choose where the product keeps its files, and none of
/// the product's own folders is a link at all.
pub(super) fn without_links(folder: &Path, foreign: &Foreign) -> Result<PathBuf, Failure> {
    let Some(way) = paths::resolve(folder) else {
        return Ok(folder.to_path_buf());
    };
    let ends_alike =
        (folder.iter().rev().take(OWN_NAMES)).eq(way.real.iter().rev().take(OWN_NAMES));
    let planted = match foreign.among(&way.links) {
        Some(link) => Some(link.at),
        None => way
            .links
            .last()
            .filter(|_| !ends_alike)
            .map(|link| link.at.as_path()),
    };
    match planted {
        Some(link) => Err(Failure::fault(format!(
            "not started: {} leads through {}, a symbolic link that a sandbox may have put there, \
             or may put another in its place\n  remedy: set XDG_STATE_HOME to a path without that \
             link, or take the folder that it lies in out of [filesystem] write",
            shown(folder),
            shown(link)
        ))),
        None => Ok(way.real),
    }
}

/// What is said of a private folder that is not there to be shown: making it in what the caller
/// keeps would leave something behind.
pub(super) fn no_place(at: &str, written: bool) -> String {
    let so = match written {
        true => "what the command writes there is kept in your own",
        false => "the command finds nothing there and cannot make it",
    };
    format!(
        "{at} does not exist, so this run has no private folder there: {so}; to give it one, make \
         it first: mkdir -p {at}"
    )
}

/// The folder that stands behind a private path, made if it is missing. Its name is the path
/// with `/` written as `%`, so that different paths have different folders.
pub(crate) fn private_folder(private: &Path, path: &Path) -> Result<PathBuf, Failure> {
    let name = path.to_string_lossy().replace('%', "%25").replace('/', "%");
    let folder = private.join(name);
    match fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
    {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(not_made(&folder, &e)),
        _ => Ok(folder),
    }
}
