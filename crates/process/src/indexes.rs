//! The indexes of the user's repositories: what a run leaves in one is in the working tree after his next
//! `git restore` or `git checkout`. Each is kept open from before the first act of a run that names a file, so that it is
//! known at the end what it said: no program inside writes into an index, it gets another.

use crate::broker::{Left, Rules};
use crate::git::{self, Content, GitFolder};
use crate::paths::below;
use crate::stored::{Instant, is_before};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// So many are kept open. Of the others nobody knows what they said.
const OPEN: usize = 64;
/// So many are known in a repository.
const MOST: usize = 10_000;

/// The indexes that were there.
#[derive(Debug, Default)]
pub(crate) struct Indexes {
    /// By their paths on the host.
    known: BTreeMap<PathBuf, Index>,
    /// The git folders that they were found by.
    git_folders: Vec<PathBuf>,
}

/// What is known of an index.
#[derive(Debug)]
struct Index {
    /// The working tree that leads to it, where that is known.
    tree: Option<PathBuf>,
    before: Before,
}

/// What it said.
#[derive(Debug)]
enum Before {
    /// There was none, or nobody knows what it said.
    Unknown,
    /// It is this one.
    Was(File),
}

impl Indexes {
    /// Keeps those of git folders.
    pub(crate) fn keep(&mut self, git_folders: Vec<GitFolder>) {
        for GitFolder { path: folder, tree } in git_folders {
            let own = folder.join("index");
            for path in indexes_of(&folder) {
                let before = match self.known.len() < OPEN {
                    true => open(&path).map_or(Before::Unknown, Before::Was),
                    false => Before::Unknown,
                };
                let tree = tree.clone().filter(|_| path == own);
                let index = self
                    .known
                    .entry(path)
                    .or_insert(Index { tree: None, before });
                index.tree = index.tree.take().or(tree);
            }
            self.git_folders.push(folder);
        }
    }

    /// The folders of objects of the repositories.
    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        let folders = self.git_folders.iter();
        folders.map(|folder| folder.join("objects")).collect()
    }

    /// What those bring that were changed at or after `since`.
    pub(crate) fn look(
        &self,
        rules: &Rules,
        since: Instant,
        withheld: &BTreeSet<PathBuf>,
    ) -> Vec<Left> {
        let is_kept = |path: &Path| rules.git(&below(rules.root(), path)).is_some();
        let looked = self.known.iter().flat_map(|(path, index)| {
            let Some(now) = open(path).ok().filter(|_| is_kept(path)) else {
                return Vec::new();
            };
            let site = rules.site_on_host(path);
            let files = |file: &File| {
                let mut text = Vec::new();
                let most = Content::Index.limit() as u64;
                let read = file.take(most).read_to_end(&mut text);
                read.map_err(|error| error.to_string())
                    .and_then(|_| git::files_of(&text, &site))
            };
            let old = match &index.before {
                Before::Was(was) if is_same(was, &now) => return Vec::new(),
                // Nothing is known of one that cannot be read.
                Before::Was(was) => files(was).unwrap_or_default(),
                Before::Unknown if was_before(&now, since) => return Vec::new(),
                Before::Unknown => Vec::new(),
            };
            match files(&now) {
                Ok(new) => rules.left_index(&site, index.tree.as_ref(), [&old, &new], withheld),
                Err(_) => rules.left_unread(path).into_iter().collect(),
            }
        });
        looked.collect()
    }
}

fn was_before(file: &File, since: Instant) -> bool {
    file.metadata().is_ok_and(|meta| is_before(&meta, since))
}

/// The paths that indexes of a git folder have, of its linked working trees, and of its submodules.
fn indexes_of(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.join("index")];
    let mut open = vec![folder.join("worktrees"), folder.join("modules")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if found.len() >= MOST || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let path = entry.path();
            match path.join("HEAD").symlink_metadata() {
                Ok(_) => {
                    found.push(path.join("index"));
                    open.extend(["worktrees", "modules"].map(|name| path.join(name)));
                }
                // Names of submodules have several parts.
                Err(_) => open.push(path),
            }
        }
    }
    found
}

/// A plain file, whatever has the name.
fn open(path: &Path) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty())?;
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(Errno::INVAL),
    }
}

/// Whether it is the same file, and nobody has changed it.
fn is_same(one: &File, other: &File) -> bool {
    let what = |stat: Stat| {
        let changed = (stat.st_ctime, stat.st_ctime_nsec);
        (stat.st_dev, stat.st_ino, stat.st_size, changed)
    };
    let both = fstat(one).and_then(|one| Ok((what(one), fstat(other).map(what)?)));
    both.is_ok_and(|(one, other)| one == other)
}
