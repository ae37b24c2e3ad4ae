//! `protect_absent = "sweep"`: protected names are not kept from being created; when everything in
//! the sandbox has ended, what was created or changed at such a name is taken out of the way and
//! reported. That is detection and not protection: until then it was there.

use crate::broker::{Rules, Verdict, content_of, replace};
use crate::git::{self, Meaning};
use crate::mounts::open_without_links;
use crate::stored::Instant;
use rustix::fs::{AtFlags, Mode, statat};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Entries of folders that are looked at; what is beyond is told.
const ENTRIES: usize = 1_000_000;

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) rule: u32,
    pub(crate) path: PathBuf,
    /// What was done about it.
    pub(crate) note: String,
}

/// Takes away what is protected below `tops` and was changed at or after `since`; it is moved below
/// `quarantine`.
pub(crate) fn sweep(
    rules: &Rules,
    tops: &[PathBuf],
    since: Instant,
    quarantine: &Path,
) -> Vec<Found> {
    let mut found = Vec::new();
    let mut seen = 0;
    let mut folders: Vec<PathBuf> = tops.to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > ENTRIES {
                found.push(Found {
                    rule: 0,
                    path: folder,
                    note: format!("more than {ENTRIES} entries: the rest was not swept"),
                });
                return found;
            }
            let path = entry.path();
            let Ok(meta) = entry.metadata() else { continue };
            let changed = (meta.ctime(), meta.ctime_nsec()) >= since;
            let verdict = match meta.is_dir() {
                true => rules.decide_folder(&path),
                false => rules.decide_file(&path),
            };
            match verdict {
                Verdict::Refuse(rule) if changed => {
                    found.push(take_away(rule, path, "", quarantine, found.len()))
                }
                _ if meta.is_dir() => folders.push(path),
                _ if changed => {
                    if let Some((rule, why)) = objection(rules, &path) {
                        found.push(take_away(rule, path, &why, quarantine, found.len()));
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// Why git would obey what a file says, or that it is none of git's; with the rule that protects git.
fn objection(rules: &Rules, path: &Path) -> Option<(u32, String)> {
    let rule = rules.git(path)?;
    if fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file())
        && git::below_git(path).is_some()
    {
        return Some((rule, "git keeps nothing but files and folders".to_owned()));
    }
    let why = match git::meaning(path) {
        Meaning::Plain | Meaning::Completes => return None,
        Meaning::Never(reason) => reason.to_owned(),
        Meaning::Obeyed(content) => {
            let before = rules.baseline(path);
            let site = rules.site(path);
            let checked = content_of(path, content.limit()).and_then(|text| {
                let instead = git::check(content, &before, &text, &site)?;
                let text = instead.as_deref().unwrap_or(&text);
                let honest = rules.honest(content, text, &Vec::new, &BTreeMap::new(), &site)?;
                Ok(honest.or(instead))
            });
            match checked.and_then(|instead| instead.map_or(Ok(()), |bytes| put(path, &bytes))) {
                Ok(()) => return None,
                Err(reason) => reason,
            }
        }
    };
    Some((rule, why))
}

/// Puts what a file is to say in its place, with the mode that it has.
fn put(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let put = || -> io::Result<()> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let folder = open_without_links(parent)?;
        let mode = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode;
        let mode = Mode::from_raw_mode(mode & 0o777);
        Ok(replace(&folder, name, bytes, mode)?)
    };
    put().map_err(|error| error.to_string())
}

/// Moves a file out of the way, and says so.
fn take_away(rule: u32, path: PathBuf, why: &str, quarantine: &Path, number: usize) -> Found {
    let colon = if why.is_empty() { "" } else { ": " };
    let note = match remove(&path, quarantine, number) {
        Ok(to) => format!(
            "it was created or changed{colon}{why}; moved to {}",
            to.display()
        ),
        Err(error) => format!("it was created or changed{colon}{why}, and stays: {error}"),
    };
    Found { rule, path, note }
}

/// Moves a path into the quarantine; where that lies on another file system, beside itself under
/// a name that nobody obeys.
fn remove(path: &Path, quarantine: &Path, number: usize) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(quarantine)?;
    let to = quarantine.join(format!("{number}-{name}"));
    match fs::rename(path, &to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let to = path.with_file_name(format!("quarantine-{number}-{name}"));
            fs::rename(path, &to).map(|()| to)
        }
        other => other.map(|()| to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_place_follows_no_link_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let [outside, index] = ["outside", "index"].map(|name| dir.join(name));
        fs::write(&outside, "mine").unwrap();
        fs::write(&index, "theirs").unwrap();
        std::os::unix::fs::symlink(&outside, dir.join("index.bailiwick")).unwrap();
        put(&index, b"cleaned").unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&index).unwrap(), "cleaned");
    }
}
