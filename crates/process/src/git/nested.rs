//! Repositories of the user's below the folders that a sandbox may write. What the configuration of one leads to
//! may lie anywhere, so all of them are looked for.

use super::configurations::Configurations;
use super::followed::{Followed, followed_at, git_folders};
use super::leads::plain;
use super::ways::led_from;
use crate::closed::{self, Closed, Listing, Why};
use crate::paths::is_absent;
use crate::setup::{raw, raw_list};
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// So many folders are looked through.
pub(crate) const FOLDERS: usize = 1_000_000;

/// A working tree, or a repository without one, and what its configuration leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Nested {
    #[serde(with = "raw")]
    pub(crate) tree: PathBuf,
    pub(crate) followed: Vec<Followed>,
    /// Where its files lead.
    #[serde(with = "raw_list")]
    pub(crate) led: Vec<PathBuf>,
}

/// What a walk has found.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// The repositories and working trees that lead somewhere.
    pub(crate) leading: Vec<Nested>,
    /// The git folders of all, and those that they share with others.
    pub(crate) git_folders: Vec<GitFolder>,
}

/// A git folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitFolder {
    pub(crate) path: PathBuf,
    /// The working tree in which a `.git` leads there.
    pub(crate) tree: Option<PathBuf>,
}

/// What is done with each entry of a walk: the folder, its name there, its type.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&Path, &OsStr, FileType);

/// The repositories in folders, the folders themselves among them. Each entry on the way is visited, of a git folder
/// those that git obeys by their names. What is nearer to the top comes first, and what could not be looked at, or is
/// more than so many folders (`left`), is added to `closed`.
pub(crate) fn nested(
    folders: &[PathBuf],
    home: &Path,
    read: &Configurations,
    visit: Visit<'_>,
    closed: &mut closed::All,
    mut left: usize,
) -> Walked {
    let (mut found, mut listing) = (Walked::default(), Listing::new());
    let mut open: VecDeque<PathBuf> = folders.iter().cloned().collect();
    while let Some(folder) = open.pop_front() {
        if left == 0 {
            let (path, why) = (folder, Why::TooMuch);
            closed.add(Closed { path, why });
            continue;
        }
        left -= 1;
        if looks_like_one(&folder, &mut open, visit, closed, &mut listing) {
            let git_folders = git_folders(&folder);
            unread(&folder, &git_folders, closed);
            let mut tree = Some(&folder).filter(|folder| !git_folders.contains(folder));
            found
                .git_folders
                .extend(git_folders.iter().map(|git| GitFolder {
                    path: plain(git),
                    tree: tree.take().cloned(),
                }));
            found
                .leading
                .extend(nested_at(&folder, folders, home, read));
        }
    }
    found
}

/// Adds the files of a repository's that say where it leads and cannot be read.
fn unread(tree: &Path, git_folders: &[PathBuf], closed: &mut closed::All) {
    let git = tree.join(".git");
    let mut files = vec![git.clone()];
    for folder in git_folders {
        files.extend(["commondir", "config", "config.worktree"].map(|name| folder.join(name)));
    }
    // Whoever opens a pipe waits.
    let read = |file: &Path| match fs::metadata(file)?.is_file() {
        true => File::open(file).map(drop),
        false => Ok(()),
    };
    for file in files {
        match read(&file) {
            Err(error) if !is_absent(&error) => closed.add(Closed::of(&file, &error)),
            _ => {}
        }
    }
}

/// The one at a folder; none where its configuration leads nowhere.
pub(crate) fn nested_at(
    tree: &Path,
    folders: &[PathBuf],
    home: &Path,
    read: &Configurations,
) -> Option<Nested> {
    let mut followed = followed_at(tree, folders, home, read);
    // What every repository has is known.
    followed.retain(|led| led.path.is_absolute());
    let (tree, led) = (tree.to_path_buf(), led_from(tree, read));
    (!followed.is_empty() || !led.is_empty()).then_some(Nested {
        tree,
        followed,
        led,
    })
}

/// Whether a folder is a repository, or a working tree. Adds the folders in it to those that are looked through.
fn looks_like_one(
    folder: &Path,
    open: &mut VecDeque<PathBuf>,
    visit: Visit<'_>,
    closed: &mut closed::All,
    listing: &mut Listing,
) -> bool {
    let mut entries = |folder: &Path, entry: &mut dyn FnMut(&OsStr, FileType)| {
        let entry = &mut |name: &OsStr, kind| {
            entry(name, kind);
            ControlFlow::Continue(())
        };
        if let Err(error) = listing.each(folder, entry) {
            closed.add(Closed::of(folder, &error));
        }
    };
    let (mut git, mut parts) = (Vec::new(), 0);
    entries(folder, &mut |name, kind| {
        visit(folder, name, kind);
        if name.eq_ignore_ascii_case(".git") {
            return git.push(folder.join(name));
        }
        let part = ["HEAD", "objects", "refs"].iter();
        parts += part.filter(|part| name == OsStr::new(part)).count();
        if kind.is_dir() {
            open.push_back(folder.join(name));
        }
    });
    for git in &git {
        for inner in [git.clone(), git.join("info"), git.join("hooks")] {
            entries(&inner, &mut |name, kind| visit(&inner, name, kind));
        }
    }
    !git.is_empty() || parts == 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_lead_somewhere_are_found_wherever_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let put = |path: &str, text: &str| {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("a/b/.git/config", "[core]\nhooksPath = ../../hooks\n");
        put("plain/.git/config", "[core]\nbare = false\n");
        put("tree/.git", "gitdir: ../elsewhere\n");
        put("elsewhere/config", "[include]\npath = ../inc\n");
        for part in ["HEAD", "config", "objects/x", "refs/x"] {
            put(&format!("bare/{part}"), "[core]\nhooksPath = hk\n");
        }
        let mut seen = Vec::new();
        let visit = &mut |folder: &Path, name: &OsStr, _| seen.push(folder.join(name));
        let mut closed = closed::All::default();
        let tops = std::slice::from_ref(&top);
        let (nowhere, read) = (Path::new("/nowhere"), Configurations::default());
        let walked = nested(tops, nowhere, &read, visit, &mut closed, FOLDERS);
        let folders = ["a/b/.git", "bare", "elsewhere", "plain/.git"];
        let mut git_folders: Vec<_> = walked.git_folders.into_iter().map(|one| one.path).collect();
        git_folders.sort();
        assert_eq!(git_folders, folders.map(|folder| top.join(folder)));
        let mut found = walked.leading;
        assert_eq!(closed.take(), []);
        for one in ["a", "a/b/.git", "plain/.git/config", "bare/objects"] {
            assert!(seen.contains(&top.join(one)), "{one}");
        }
        found.sort_by(|one, other| one.tree.cmp(&other.tree));
        let found: Vec<_> = found
            .into_iter()
            .map(|one| (one.tree, one.followed[0].path.clone()))
            .collect();
        let expected = [("a/b", "hooks"), ("bare", "bare/hk"), ("tree", "inc")];
        assert_eq!(
            found,
            expected.map(|(tree, path)| (top.join(tree), top.join(path)))
        );
    }

    #[test]
    fn what_is_too_much_is_closed_and_what_is_nearer_to_the_top_is_looked_at_first() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for number in 0..20 {
            fs::create_dir_all(top.join(format!("many/{number}"))).unwrap();
            fs::create_dir_all(top.join(format!("user{number}"))).unwrap();
        }
        let mut seen = Vec::new();
        let visit = &mut |folder: &Path, name: &OsStr, _| seen.push(folder.join(name));
        let mut closed = closed::All::default();
        let tops = std::slice::from_ref(&top);
        let (nowhere, read) = (Path::new("/nowhere"), Configurations::default());
        nested(tops, nowhere, &read, visit, &mut closed, 25);
        assert_eq!(seen.len(), 1 + 20 + 20);
        let closed = closed.take();
        assert_eq!(closed.len(), 17);
        let inner =
            |one: &Closed| one.why == Why::TooMuch && one.path.starts_with(top.join("many"));
        assert!(closed.iter().all(inner));
    }
}
