//! Files that steer git. Git obeys a repository wherever it finds one: a folder `.git`, a file `.git`
//! that leads to a folder, a bare repository in any folder. What it then runs stands in the
//! repository's configuration and hooks; so every file that makes a folder a repository, or leads
//! from one to another, is decided by what it says.

use crate::paths;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// What a name means to git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Nothing.
    Plain,
    /// A configuration: it may be replaced by one that changes nothing but what is harmless.
    Configuration,
    /// A file that leads to the folder of a repository; it is written when its content is known.
    Leads(Leads),
    /// What makes a folder with a configuration a repository.
    Head,
    /// It may not be created at all, for this reason.
    Never(&'static str),
}

/// A file with one line that leads elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leads {
    /// `.git`, with `gitdir: PATH`.
    GitFile,
    /// `commondir` of a linked working tree.
    CommonDir,
}

/// Names that a submodule must not have as a part of its own: they mean something in a repository.
const RESERVED: [&[u8]; 7] = [
    b"refs",
    b"logs",
    b"objects",
    b"hooks",
    b"info",
    b"worktrees",
    b"..",
];

/// Whether a submodule of this name has its repository where nothing else is.
pub(super) fn is_name_of_module(name: &[u8]) -> bool {
    name.split(|&b| b == b'/').all(|part| {
        !part.is_empty() && part != b"." && !RESERVED.contains(&part) && !is_probe(part)
    })
}

/// The name of a file by which git finds out whether a file system has links.
pub(super) fn is_probe(name: &[u8]) -> bool {
    matches!(name, [b't', rest @ ..] if rest.len() == 6 && rest.iter().all(u8::is_ascii_alphanumeric))
}

/// The components below the first `.git`.
fn below_git(path: &Path) -> Option<Vec<&[u8]>> {
    let mut parts = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .map(|part| part.as_os_str().as_bytes());
    parts.find(|part| part.eq_ignore_ascii_case(b".git"))?;
    Some(parts.collect())
}

/// Whether a path is a folder of git or lies in one.
pub(super) fn is_in_git(path: &Path) -> bool {
    below_git(path).is_some()
}

/// What a new or changed file at `path` means. `exists` says whether the folder of the file holds
/// a name.
pub(super) fn meaning(path: &Path, exists: &dyn Fn(&str) -> bool) -> Meaning {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
    match below_git(path) {
        Some(below) if below.is_empty() => Meaning::Leads(Leads::GitFile),
        Some(below) => in_git(&below),
        None if is(b"commondir") => Meaning::Never("it would lead git to another repository"),
        None if is(b"hooks") && is_repository(exists) => {
            Meaning::Never("git would run what it leads to")
        }
        None if is(b".gitmodules") => Meaning::Configuration,
        None if completes(name, exists) => match exists("config") || exists("hooks") {
            true => Meaning::Head,
            false => Meaning::Plain,
        },
        None if is(b"config") || is(b"config.worktree") => match is_repository(exists) {
            true => Meaning::Configuration,
            false => Meaning::Plain,
        },
        None => Meaning::Plain,
    }
}

/// Whether a folder is a repository to git, or what the working trees of one have in common.
fn is_repository(exists: &dyn Fn(&str) -> bool) -> bool {
    exists("HEAD") || exists("objects") && exists("refs")
}

/// The same, of a folder that is there.
pub(super) fn is_repository_at(folder: &Path) -> bool {
    is_repository(&|name| folder.join(name).symlink_metadata().is_ok())
}

/// Whether a folder becomes a repository by this name.
fn completes(name: &[u8], exists: &dyn Fn(&str) -> bool) -> bool {
    match name {
        b"objects" => exists("refs"),
        b"refs" => exists("objects"),
        _ => name.eq_ignore_ascii_case(b"HEAD"),
    }
}

/// Whether a folder may be moved to another name: what files in it say would lead elsewhere.
pub(super) fn may_move(from: &Path, to: &Path) -> bool {
    let is_git = |path: &Path| below_git(path).is_some_and(|below| below.is_empty());
    match below_git(from) {
        Some(below) if below.is_empty() => is_git(to),
        Some(below) => !matches!(below[0], b"modules" | b"worktrees"),
        None => true,
    }
}

fn in_git(below: &[&[u8]]) -> Meaning {
    let Some((last, above)) = below.split_last() else {
        return Meaning::Plain;
    };
    let has = |pair: &[&[u8]]| above.windows(pair.len()).any(|window| window == pair);
    if last.eq_ignore_ascii_case(b"commondir") {
        let linked = above.len() >= 2 && above[above.len() - 2] == b"worktrees";
        return match linked {
            true => Meaning::Leads(Leads::CommonDir),
            false => Meaning::Never("it would lead git to another repository"),
        };
    }
    // Branches may have any name.
    let branch =
        has(&[b"refs", b"heads"]) || has(&[b"refs", b"remotes"]) || has(&[b"refs", b"tags"]);
    let configuration =
        last.eq_ignore_ascii_case(b"config") || last.eq_ignore_ascii_case(b"config.worktree");
    match configuration && !branch {
        true => Meaning::Configuration,
        false => Meaning::Plain,
    }
}

/// Whether a name below a folder `hooks` would be run by git: the folder is that of a repository.
pub(super) fn is_hook(path: &Path) -> bool {
    let mut folder = path.parent();
    while let Some(hooks) = folder {
        if hooks.file_name().is_some_and(|name| name == "hooks")
            && hooks.parent().is_some_and(is_repository_at)
        {
            return true;
        }
        folder = hooks.parent();
    }
    false
}

/// Whether a folder of hooks holds nothing that git would run.
pub(super) fn holds_only_samples(hooks: &Path) -> bool {
    match fs::symlink_metadata(hooks) {
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        Ok(meta) if !meta.is_dir() => false,
        Ok(_) => fs::read_dir(hooks).is_ok_and(|mut entries| {
            entries.all(|entry| {
                entry.is_ok_and(|entry| {
                    Path::new(&entry.file_name())
                        .extension()
                        .is_some_and(|extension| extension == "sample")
                })
            })
        }),
    }
}

/// Whether the content of a file that leads elsewhere leads to where everything is protected by
/// its name. `folder` is the folder of the file, without links, and `root` what whoever runs git sees
/// as the root.
pub(super) fn leads_well(kind: Leads, content: &[u8], folder: &Path, root: &Path) -> bool {
    let line = content.strip_suffix(b"\n").unwrap_or(content);
    if line.iter().any(|b| b.is_ascii_control()) {
        return false;
    }
    match kind {
        Leads::CommonDir => line == b"../..",
        Leads::GitFile => {
            let Some(target) = line.strip_prefix(b"gitdir: ") else {
                return false;
            };
            let folder = super::of_policy(root, folder);
            let Some(real) = real_path(&folder.join(OsStr::from_bytes(target)), root) else {
                return false;
            };
            match below_git(&real).as_deref() {
                Some([first, name]) if *first == b"worktrees" => is_name_of_module(name),
                Some([first, names @ ..]) if *first == b"modules" && !names.is_empty() => {
                    is_name_of_module(&names.join(&b'/')) || is_worktree_of_module(names)
                }
                _ => false,
            }
        }
    }
}

/// Where a path leads now, through every link, as it is seen from `root`; its last part need not exist
/// yet, because git makes it later. What is made below a `.git` is no link.
fn real_path(path: &Path, root: &Path) -> Option<PathBuf> {
    let mut absent = Vec::new();
    let mut there = path;
    loop {
        match paths::resolve_in(root, there) {
            Some(found) => {
                let absent: PathBuf = absent.iter().rev().collect();
                return Some(found.real.join(absent));
            }
            None => {
                // A link that leads nowhere might lead somewhere later.
                if paths::is_there(root, there) {
                    return None;
                }
                let Some(Component::Normal(name)) = there.components().next_back() else {
                    return None;
                };
                absent.push(name);
                there = there.parent()?;
            }
        }
    }
}

/// `modules/NAME/worktrees/TREE`.
fn is_worktree_of_module(names: &[&[u8]]) -> bool {
    match names {
        [module @ .., worktrees, tree] if *worktrees == b"worktrees" && !module.is_empty() => {
            is_name_of_module(&module.join(&b'/')) && is_name_of_module(tree)
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
