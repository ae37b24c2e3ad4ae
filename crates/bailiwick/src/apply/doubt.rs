//! What of a disk's changes may be none: a machine that was ended before it had written everything leaves
//! files empty, short or without a name, and its file system takes that for what its programs wanted.

use super::repositories::Repositories;
use bailiwick_event::Failure;
use bailiwick_transfer::{Change, Changes, Entry, Kind, Listing, with_above};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Why a change could be a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// It would be removed.
    Gone,
    /// It would become empty.
    Empty,
    /// It would become shorter.
    Shorter,
    /// It would become something else.
    Other,
    /// It is part of a repository of git's, which is whole or broken.
    Git,
    /// It lies in something that is left as it is.
    Below,
}

impl Doubt {
    /// As it is said of a path.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Gone => "it would be removed",
            Self::Empty => "it would be empty",
            Self::Shorter => "it would be shorter",
            Self::Other => "it would be something else",
            Self::Git => "it is part of a git repository",
            Self::Below => "it lies in something that is left as it is",
        }
    }
}

/// Takes from the changes of a disk that was not closed those that could be a loss, but for what is forced;
/// these, and why.
pub(super) fn take(
    changes: &mut Changes,
    before: &Listing,
    after: &Listing,
    git: &Repositories<'_>,
    forced: &Forced,
) -> Vec<(Vec<u8>, Change, Doubt)> {
    let mut taken: Vec<(Vec<u8>, Change, Doubt)> = Vec::new();
    for (path, change) in changes.iter().filter(|(path, _)| !forced.has(path)) {
        let doubt = of(*change, before.0.get(path), after.0.get(path));
        let in_git = || with_above(path).any(|path| git.contains(path));
        // A folder that cannot become a file keeps what lies in it.
        let below = || {
            let other = |(left, _, doubt): &(Vec<u8>, _, Doubt)| {
                *doubt == Doubt::Other && with_above(path).any(|above| above == left)
            };
            taken.iter().any(other)
        };
        let doubt = doubt
            .or_else(|| in_git().then_some(Doubt::Git))
            .or_else(|| below().then_some(Doubt::Below));
        taken.extend(doubt.map(|doubt| (path.clone(), *change, doubt)));
    }
    for (path, ..) in &taken {
        changes.remove(path);
    }
    taken
}

fn of<'a>(change: Change, before: Option<&'a Entry>, after: Option<&'a Entry>) -> Option<Doubt> {
    let kind = |entry: Option<&'a Entry>| entry.map(|entry| &entry.kind);
    match (change, kind(before), kind(after)) {
        (Change::Gone, ..) => Some(Doubt::Gone),
        (_, None | Some(Kind::File { size: 1.. }), Some(Kind::File { size: 0 })) => {
            Some(Doubt::Empty)
        }
        (_, Some(Kind::File { size: was }), Some(Kind::File { size })) if size < was => {
            Some(Doubt::Shorter)
        }
        (_, None, _)
        | (_, Some(Kind::File { .. }), Some(Kind::File { .. }))
        | (_, Some(Kind::Folder), Some(Kind::Folder))
        | (_, Some(Kind::Link { .. }), Some(Kind::Link { .. })) => None,
        _ => Some(Doubt::Other),
    }
}

/// The paths that are brought although they could be a loss.
#[derive(Debug)]
pub(super) struct Forced(Vec<PathBuf>);

impl Forced {
    /// Those that were named: below the workspace, or by their full paths; `.` is all of it.
    ///
    /// # Errors
    /// One lies elsewhere.
    pub(super) fn of(named: &[PathBuf], workspace: &Path) -> Result<Self, Failure> {
        let below = |path: &PathBuf| {
            let full = workspace.join(path);
            let below = full.strip_prefix(workspace).map(Path::to_path_buf);
            let is_plain = |path: &PathBuf| !path.iter().any(|part| part == "..");
            below.ok().filter(is_plain).ok_or_else(|| {
                Failure::usage(format!(
                    "--force {}: that is not in the session's workspace {}\nhelp: give a path as `bailiwick \
                     apply --dry-run` prints it",
                    bailiwick_event::Text::from(path.as_os_str()),
                    workspace.display()
                ))
            })
        };
        named.iter().map(below).collect::<Result<_, _>>().map(Self)
    }

    fn has(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        self.0.iter().any(|forced| path.starts_with(forced))
    }
}

#[cfg(test)]
#[path = "doubt_tests.rs"]
mod tests;
