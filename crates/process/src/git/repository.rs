//! Which folders are git folders, and what a name means there. Git obeys a repository wherever it finds one: a
//! folder `.git`, a file `.git` that leads to a folder, a folder without a working tree anywhere. Below a
//! `.git` every name is decided by what git keeps there; in any other folder only what git would obey is, so
//! that a project may have folders `objects` and files `config`.

use super::content::Content;
use super::layout::{self, Part};
use super::leads::below_git;
use crate::paths::{below, may_be_there};
use rustix::fs::FileType;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// What a name means to git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Nothing, or data that it stores.
    Plain,
    /// It obeys a file of this name: what it says is decided.
    Obeyed(Content),
    /// It makes a repository of its folder: what lies beside it is decided.
    Completes,
    /// It may not be made at all, for this reason.
    Never(&'static str),
}

/// Why a name is not made that git does not keep.
pub(crate) const UNKNOWN: &str = "git keeps nothing of this name in its folder";
const ELSEWHERE: &str = "it would lead git to another repository";

/// What a new or changed file at `path` means.
pub(crate) fn meaning(path: &Path) -> Meaning {
    if let Some(below) = below_git(path) {
        return match below.is_empty() {
            true => Meaning::Obeyed(Content::GitFile),
            false => in_git(&below),
        };
    }
    if let Some(meaning) = of_linked_tree(path) {
        return meaning;
    }
    let name = path.file_name().unwrap_or_default().as_bytes();
    if name.eq_ignore_ascii_case(b"commondir") {
        return Meaning::Never(ELSEWHERE);
    }
    if name.eq_ignore_ascii_case(b".gitmodules") {
        return Meaning::Obeyed(Content::Modules);
    }
    if completes(name, path) {
        return Meaning::Completes;
    }
    elsewhere(path)
}

/// What git obeys of a file that a repository which is not called `.git` keeps of a linked working tree, in
/// `worktrees/ID`. Such a folder is no repository of its own.
fn of_linked_tree(path: &Path) -> Option<Meaning> {
    let below = below_worktrees(path, Path::new("/"))?;
    let file = (below.len() == 3).then(|| layout::file(&below))?;
    match file {
        Part::Obeyed(content) => Some(Meaning::Obeyed(content)),
        Part::Refused(reason) => Some(Meaning::Never(reason)),
        _ => None,
    }
}

/// The components of a path from the `worktrees` of a repository on which is not called `.git`; paths begin at
/// `root`.
pub(super) fn below_worktrees<'a>(path: &'a Path, root: &Path) -> Option<Vec<&'a [u8]>> {
    let parts: Vec<&[u8]> = path.iter().map(OsStrExt::as_bytes).collect();
    let keeps = |at: &usize| {
        let top = path.ancestors().nth(parts.len() - at);
        parts[*at] == b"worktrees" && top.is_some_and(|top| is_repository_at(&below(root, top)))
    };
    let at = (1..parts.len()).find(keeps)?;
    Some(parts[at..].to_vec())
}

/// What `below` means in a folder `.git`.
fn in_git(below: &[&[u8]]) -> Meaning {
    match layout::file(below) {
        Part::Data | Part::Draft | Part::Sample => Meaning::Plain,
        Part::Obeyed(content) => Meaning::Obeyed(content),
        Part::Refused(reason) => Meaning::Never(reason),
        Part::Unknown => Meaning::Never(UNKNOWN),
    }
}

/// What a name means in a folder that may be a repository without being called `.git`.
fn elsewhere(path: &Path) -> Meaning {
    let parts: Vec<&[u8]> = path.iter().map(OsStrExt::as_bytes).collect();
    for at in (1..parts.len()).rev() {
        if !may_steer(parts[at]) {
            continue;
        }
        let found = match layout::file(&parts[at..]) {
            Part::Obeyed(content) => Meaning::Obeyed(content),
            Part::Refused(reason) => Meaning::Never(reason),
            _ => continue,
        };
        let top = path.ancestors().nth(parts.len() - at).unwrap_or(path);
        if is_repository_at(top) {
            return found;
        }
    }
    Meaning::Plain
}

/// Whether git obeys anything in or under this name of a git folder.
fn may_steer(name: &[u8]) -> bool {
    matches!(
        name,
        b"config"
            | b"config.worktree"
            | b"index"
            | b"gitdir"
            | b"hooks"
            | b"info"
            | b"refs"
            | b"objects"
            | b"branches"
            | b"remotes"
            | b"svn"
            | b"worktrees"
            | b"modules"
            | b"rebase-merge"
            | b"rebase-apply"
            | b"sequencer"
            | b"BISECT_START"
            | b"MERGE_RR"
            | b"reftable"
            | b"fsmonitor--daemon.ipc"
    ) || layout::is_pseudo_ref(name)
        || name.starts_with(b"sharedindex.")
}

/// Whether git reads anything in or under this name of a repository, whatever stands in it now. A file system may take
/// names for the same that are written in other letters.
pub(crate) fn is_part(name: &[u8]) -> bool {
    const PARTS: [&[u8]; 8] = [
        b"HEAD",
        b"commondir",
        b"config",
        b"objects",
        b"refs",
        b"hooks",
        b"info",
        b"packed-refs",
    ];
    may_steer(name) || PARTS.iter().any(|part| name.eq_ignore_ascii_case(part))
}

/// What a new folder at `path` means: none where it may not be made, for the reason that is given.
pub(crate) fn folder(path: &Path) -> Meaning {
    match below_git(path) {
        Some(below) if below.is_empty() || layout::is_folder(&below) => Meaning::Plain,
        Some(below) => match layout::file(&below) {
            Part::Refused(reason) => Meaning::Never(reason),
            _ => Meaning::Never(UNKNOWN),
        },
        None => match completes(path.file_name().unwrap_or_default().as_bytes(), path) {
            true => Meaning::Completes,
            false => Meaning::Plain,
        },
    }
}

/// Whether a link may have this name. Git keeps none of its own; what one leads to would be git's as well.
pub(crate) fn may_be_link(path: &Path) -> bool {
    below_git(path).is_none() && !is_in_repository(path)
}

/// Whether git makes a link to find out whether there are links: directly in a folder of its own, and one that
/// leads nowhere.
pub(crate) fn finds_out_about_links(path: &Path, target: &[u8]) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let below = below_git(path).or_else(|| below_worktrees(path, Path::new("/")));
    let here = match below {
        Some(below) => layout::is_link(&below),
        None => layout::is_link(&[name]) && path.parent().is_some_and(is_repository_at),
    };
    here && target == layout::PROBED
}

/// Whether only a file may have this name: git opens what it takes for one, and waits for a pipe for ever.
pub(crate) fn must_be_file(path: &Path, kind: FileType) -> bool {
    const OPENED: [&str; 5] = [
        "HEAD",
        ".gitignore",
        ".gitattributes",
        ".gitmodules",
        ".mailmap",
    ];
    let name = path.file_name().unwrap_or_default();
    let opened = OPENED
        .iter()
        .any(|opened| name.eq_ignore_ascii_case(opened));
    below_git(path).is_some() || kind != FileType::Symlink && (opened || is_in_repository(path))
}

/// Whether a file of this name is git's own: below `.git`, or one that git is known to keep in a folder that holds
/// a repository without being called so. Working trees may lie in such a folder, and their files are not git's.
pub(crate) fn is_of_git(path: &Path) -> bool {
    const WHOLE: [&str; 3] = ["HEAD", "objects", "refs"];
    let is_kept = |folder: &Path| {
        let below: Vec<&[u8]> = match path.strip_prefix(folder) {
            Ok(below) => below.iter().map(OsStrExt::as_bytes).collect(),
            Err(_) => return false,
        };
        layout::file(&below) != Part::Unknown
            && WHOLE.iter().all(|name| may_be_there(&folder.join(name)))
    };
    below_git(path).is_some() || path.ancestors().skip(1).any(is_kept)
}

/// Whether a path is one that git keeps, in a folder that is a repository without being called `.git`.
fn is_in_repository(path: &Path) -> bool {
    let parts: Vec<&[u8]> = path.iter().map(OsStrExt::as_bytes).collect();
    (1..parts.len()).any(|at| {
        let first = &parts[at..=at];
        let of_git = layout::is_folder(first) || layout::file(first) != Part::Unknown;
        of_git && (path.ancestors().nth(parts.len() - at)).is_some_and(is_repository_at)
    })
}

/// Whether a folder is a repository to git, or what the working trees of one have in common.
pub(crate) fn is_repository_at(folder: &Path) -> bool {
    let has = |name: &str| may_be_there(&folder.join(name));
    has("HEAD") || has("objects") && has("refs")
}

/// Whether the folder of `path` becomes a repository by this name.
fn completes(name: &[u8], path: &Path) -> bool {
    let beside = |name: &str| {
        let folder = path.parent();
        folder.is_some_and(|folder| may_be_there(&folder.join(name)))
    };
    match name {
        b"objects" => beside("refs"),
        b"refs" => beside("objects"),
        _ => name.eq_ignore_ascii_case(b"HEAD"),
    }
}

/// Whether a file of this name is the `HEAD` of a repository, in a folder that is not called `.git`.
pub(crate) fn is_head(path: &Path) -> bool {
    let beside = |name: &str| {
        path.parent()
            .is_some_and(|folder| may_be_there(&folder.join(name)))
    };
    path.file_name().is_some_and(|name| name == "HEAD") && (beside("objects") || beside("refs"))
}

/// Whether a folder may be moved to another name: what files in it say would lead elsewhere, and in a git
/// folder every name has a meaning.
pub(crate) fn may_move(from: &Path, to: &Path) -> bool {
    let is_git = |path: &Path| below_git(path).is_some_and(|below| below.is_empty());
    let of_data = |path: &Path| {
        let below = below_git(path);
        below.is_some_and(|below| {
            matches!(
                below.first(),
                Some(&(b"refs" | b"logs" | b"objects" | b"lfs" | b"rr-cache"))
            )
        })
    };
    match (below_git(from), below_git(to)) {
        (Some(from), _) if from.is_empty() => is_git(to),
        // What is data there would have a meaning elsewhere.
        (Some(_), None) => false,
        (Some(old), Some(below)) if !below.is_empty() => {
            // What is a line of a log could be a reference.
            let same = old.first() == below.first();
            of_data(from) && of_data(to) && same && layout::is_folder(&below)
        }
        (None, Some(below)) if !below.is_empty() => false,
        (_, Some(_)) => true,
        // What it holds would have a meaning there, or has one where it is.
        (None, None) => !is_in_repository(to) && !is_in_repository(from),
    }
}

/// Whether a name lies in a folder `hooks` of a repository and is no sample: git would run it.
pub(crate) fn is_hook(path: &Path) -> bool {
    matches!(meaning(path), Meaning::Never(_))
        && path
            .ancestors()
            .skip(1)
            .any(|above| above.file_name().is_some_and(|name| name == "hooks"))
}

/// Whether a folder of hooks holds nothing that git would run.
pub(crate) fn holds_only_samples(hooks: &Path) -> bool {
    let is_sample = |name: &OsStr| {
        Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "sample")
    };
    match fs::symlink_metadata(hooks) {
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        Ok(meta) if !meta.is_dir() => false,
        Ok(_) => fs::read_dir(hooks).is_ok_and(|mut entries| {
            entries.all(|entry| entry.is_ok_and(|entry| is_sample(&entry.file_name())))
        }),
    }
}

/// What git would obey in a folder that becomes a repository: each with its path. The reason where something
/// may not be there at all, or there is too much to look at.
pub(crate) fn obeyed_in(
    top: &Path,
    limit: usize,
) -> Result<Vec<(std::path::PathBuf, Content)>, String> {
    let mut found = Vec::new();
    let mut seen = 0;
    let mut folders = vec![top.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error.to_string()),
        };
        for entry in entries {
            let entry = entry.map_err(|error| error.to_string())?;
            seen += 1;
            if seen > limit {
                return Err("there is too much beside it to look at".to_owned());
            }
            let path = entry.path();
            let kind = entry.file_type().map_err(|error| error.to_string())?;
            let below: Vec<&[u8]> = path
                .strip_prefix(top)
                .unwrap_or(&path)
                .components()
                .filter(|part| matches!(part, Component::Normal(_)))
                .map(|part| part.as_os_str().as_bytes())
                .collect();
            let of_git = layout::is_folder(&below) || layout::file(&below) != Part::Unknown;
            match (kind.is_dir(), layout::file(&below)) {
                (true, _) if holds_nothing_obeyed(&below) => {}
                (true, _) if layout::is_folder(&below) => folders.push(path),
                (false, _) if of_git && !kind.is_file() => {
                    return Err(format!("{} is no file", path.display()));
                }
                (false, Part::Obeyed(content)) => found.push((path, content)),
                (_, Part::Refused(reason)) => return Err(format!("{}: {reason}", path.display())),
                _ => {}
            }
        }
    }
    Ok(found)
}

/// Folders of objects, which may be large; git changes none that is there.
fn holds_nothing_obeyed(below: &[&[u8]]) -> bool {
    matches!(below, [b"objects", name, ..] if *name != b"info")
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
