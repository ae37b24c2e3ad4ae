//! The indexes of the user's repositories: what a run leaves in one is in the working tree after his next `git restore`
//! or `git checkout`. Each is kept open from before the first act of a run that names a file, so that it is known at the
//! end what it said, whatever happened meanwhile. So is what their configurations said (`settings.rs`).

use crate::broker::{Left, Rules};
use crate::git::{Content, GitFolder, Whole};
use crate::paths::below;
use crate::settings::Settings;
use crate::stored::{Instant, is_before, made};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// So many are kept open. What further ones said is not known, and all counts as new in those that are changed.
const OPEN: usize = 64;
/// So many are known in a repository.
const MOST: usize = 10_000;
/// An index ends with a checksum of at most so many bytes.
const SUM: usize = 32;

/// The indexes that were there.
#[derive(Debug, Default)]
pub(crate) struct Indexes {
    /// By their paths on the host.
    known: BTreeMap<PathBuf, Index>,
    /// The git folders that they were found by.
    git_folders: Vec<PathBuf>,
    /// Those that were there, of linked working trees and submodules as well.
    began: BTreeSet<PathBuf>,
    /// The working trees that were there.
    trees: BTreeSet<PathBuf>,
    /// What their configurations said.
    settings: Settings,
}

/// What is known of an index.
#[derive(Debug, Default)]
struct Index {
    /// The working tree that leads to it, where that is known.
    tree: Option<PathBuf>,
    /// What it was; none where there was none, or nobody knows.
    before: Option<Before>,
}

/// An index as it was.
#[derive(Debug)]
struct Before {
    file: File,
    state: State,
    /// Its checksum.
    sum: Vec<u8>,
}

/// By what one sees that a file is another, or was changed: device, number, length and time of change.
type State = (u64, u64, i64, Instant);

impl Indexes {
    /// Keeps those of git folders.
    pub(crate) fn keep(&mut self, git_folders: Vec<GitFolder>) {
        for GitFolder { path: folder, tree } in git_folders {
            let own = folder.join("index");
            if let Some(tree) = &tree {
                self.settings.keep_tree(tree);
            }
            self.trees.extend(tree.clone());
            for git in git_folders_of(&folder) {
                let path = git.join("index");
                self.settings.keep(&git);
                self.began.insert(git);
                let may_open = self.known.len() < OPEN;
                let tree = tree.clone().filter(|_| path == own);
                let index = self.known.entry(path.clone()).or_insert_with(|| Index {
                    tree: None,
                    before: may_open.then(|| Before::of(&path)).flatten(),
                });
                index.tree = index.tree.take().or(tree);
            }
            self.git_folders.push(folder);
        }
    }

    /// The git folders that were there, of linked working trees and submodules as well.
    pub(crate) fn began(&self) -> impl Iterator<Item = &PathBuf> {
        self.began.iter()
    }

    /// Whether a folder was a working tree when the run began, or is one of those that may be written: what leads to its
    /// repository is the user's.
    pub(crate) fn had(&self, rules: &Rules, tree: &Path) -> bool {
        self.trees.contains(tree) || rules.kept().iter().any(|top| top == tree)
    }

    /// Whether the run has made the repository of a folder of objects, where none was: then all of it is what the run
    /// has left, and nothing of the user's is in it. Where the file system does not say when a folder was made it counts
    /// as older.
    pub(crate) fn is_new(&self, rules: &Rules, folder: &Path, since: Instant) -> bool {
        let Some(git) = folder.parent() else {
            return false;
        };
        let made = made(git);
        // What has come into a repository of the user's is his as well: a submodule.
        let was_there = git.ancestors().any(|above| self.began.contains(above))
            || rules.is_of_top(&below(rules.root(), git));
        !was_there && made.is_some_and(|made| made >= since)
    }

    /// Adds those that have come since: of a working tree or a submodule, and of a repository that has another path now.
    fn add_new(&mut self, rules: &Rules, since: Instant) {
        let mut folders: Vec<GitFolder> = Vec::new();
        let known = |path: PathBuf| GitFolder { path, tree: None };
        if self.git_folders.iter().any(|folder| !folder.exists()) {
            folders = rules.find().git_folders;
            folders.retain(|folder| !self.is_new(rules, &folder.path.join("objects"), since));
        }
        folders.extend(std::mem::take(&mut self.git_folders).into_iter().map(known));
        // That of a folder that may be written is the user's, whoever has made it.
        let tops = rules.kept().iter().map(|top| top.join(".git"));
        folders.extend(tops.map(known));
        for GitFolder { path: folder, tree } in folders {
            for git in git_folders_of(&folder) {
                let tree = tree.clone();
                self.known
                    .entry(git.join("index"))
                    .or_insert(Index { tree, before: None });
            }
            self.git_folders.push(folder);
        }
    }

    /// What those bring that were changed at or after `since`.
    pub(crate) fn look(
        &mut self,
        rules: &Rules,
        since: Instant,
        withheld: &BTreeSet<PathBuf>,
    ) -> Vec<Left> {
        self.add_new(rules, since);
        let is_kept = |path: &Path| rules.git(&below(rules.root(), path)).is_some();
        let looked = self.known.iter().flat_map(|(path, index)| {
            let Some(now) = open(path).ok().filter(|_| is_kept(path)) else {
                return Vec::new();
            };
            let unchanged = match &index.before {
                Some(before) => state(&now).is_ok_and(|now| now == before.state),
                None => now.metadata().is_ok_and(|meta| is_before(&meta, since)),
            };
            if unchanged {
                return Vec::new();
            }
            let site = rules.site_on_host(path);
            let old = index.before.as_ref().and_then(Before::text);
            let whole = |text| Whole::of(text, &site).ok();
            let (old, new) = (old.and_then(whole), read(&now).and_then(whole));
            let Some(new) = new.as_ref().and_then(|new| new.files().ok()) else {
                return rules.left_unread(path).into_iter().collect();
            };
            let old = old.as_ref().and_then(|old| old.files().ok());
            let both = [old.as_deref().unwrap_or_default(), new.as_slice()];
            rules.left_index(&site, index.tree.as_ref(), both, withheld)
        });
        looked.chain(self.settings.look(rules)).collect()
    }
}

impl Before {
    fn of(path: &Path) -> Option<Self> {
        let file = open(path).ok()?;
        let state = state(&file).ok()?;
        let mut sum = vec![0; SUM];
        let at = u64::try_from(state.2).ok()?.checked_sub(SUM as u64)?;
        file.read_exact_at(&mut sum, at).ok()?;
        Some(Self { file, state, sum })
    }

    /// What it said; none where somebody has written into it since, or may have. Git leaves the checksum out if it is to.
    fn text(&self) -> Option<Vec<u8>> {
        let text = read(&self.file)?;
        let has_sum = self.sum[SUM - 20..].iter().any(|&byte| byte != 0);
        (has_sum && text.ends_with(&self.sum)).then_some(text)
    }
}

/// All of an index.
fn read(file: &File) -> Option<Vec<u8>> {
    let most = Content::Index.limit();
    let mut text = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut text).ok()?;
    (text.len() <= most).then_some(text)
}

fn state(file: &File) -> Result<State, Errno> {
    let stat: Stat = fstat(file)?;
    let changed = (
        stat.st_ctime,
        i64::try_from(stat.st_ctime_nsec).unwrap_or(0),
    );
    Ok((stat.st_dev, stat.st_ino, stat.st_size, changed))
}

/// A git folder, and those of its linked working trees and its submodules.
pub(crate) fn git_folders_of(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_path_buf()];
    let mut open = vec![folder.join("worktrees"), folder.join("modules")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if found.len() >= MOST || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let path = entry.path();
            match path.join("HEAD").symlink_metadata() {
                Ok(_) => {
                    open.extend(["worktrees", "modules"].map(|name| path.join(name)));
                    found.push(path);
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
