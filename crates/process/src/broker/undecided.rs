//! Files of git that a program was writing where they are, and locks that it held, when pid 1 was killed (by a
//! limit, by the kernel's want of memory, by the user). Pid 1 would have decided the files by what they say, and
//! taken the locks away; the supervisor does it then.

use super::locks::is_lock;
use super::rules::Rules;
use super::watched::{checked, settle};
use crate::git::{self, Meaning};
use crate::mounts::open_without_links;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid, chownat, fstat, openat, statat, unlinkat};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// So many files may be written in a run where they are.
pub(super) const MOST: usize = 10_000;

/// What pid 1 has not decided.
#[derive(Debug, Default)]
pub(crate) struct Undecided {
    /// As paths inside.
    paths: BTreeSet<PathBuf>,
    /// Locks of git's that programs have made, by their paths inside: device and number there.
    locks: BTreeMap<PathBuf, (u64, u64)>,
}

/// A file that was taken away.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Removed {
    /// The number of the rule.
    pub(crate) rule: u32,
    pub(crate) path: PathBuf,
    /// Why.
    pub(crate) reason: String,
}

impl Undecided {
    /// A file that pid 1 means to decide.
    pub(crate) fn add(&mut self, path: PathBuf) {
        if self.paths.len() < MOST {
            self.paths.insert(path);
        }
    }

    /// A lock that pid 1 means to take away.
    pub(crate) fn lock(&mut self, path: PathBuf, file: (u64, u64)) {
        if self.locks.len() < MOST || self.locks.contains_key(&path) {
            self.locks.insert(path, file);
        }
    }

    /// Pid 1 has decided all of them.
    pub(crate) fn clear(&mut self) {
        self.paths.clear();
        self.locks.clear();
    }

    /// Decides them: a copy takes the place of what is harmless, because somebody may have it open still, and
    /// what is not goes. Nothing of the sandbox may run any more.
    pub(crate) fn decide(&mut self, rules: &Rules) -> Vec<Removed> {
        for (path, file) in std::mem::take(&mut self.locks) {
            release(&rules.of_policy(&path), file);
        }
        let paths = std::mem::take(&mut self.paths);
        let removed = |path: &PathBuf| decide(rules, path).err();
        paths.iter().filter_map(removed).collect()
    }
}

/// Takes a lock away, where it is still the one that was told of.
fn release(path: &Path, file: (u64, u64)) {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let Ok(folder) = open_without_links(parent) else {
        return;
    };
    let found = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
    // What stands for a link is empty, as long as it is nobody's.
    let lock = is_lock(name);
    let is_own = |stat: &Stat| (stat.st_dev, stat.st_ino) == file && (lock || stat.st_size == 0);
    if found.is_ok_and(|stat| is_own(&stat)) {
        let _ = unlinkat(&folder, name, AtFlags::empty());
    }
}

fn decide(rules: &Rules, inside: &Path) -> Result<(), Removed> {
    let path = rules.of_policy(inside);
    let (Some(rule), Meaning::Obeyed(content)) = (rules.git(inside), git::meaning(&path)) else {
        return Ok(());
    };
    let removed = |reason: String| Removed {
        rule,
        path: path.clone(),
        reason,
    };
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(());
    };
    // Where it is not any more it was moved, which was decided then.
    let Ok(folder) = open_without_links(parent) else {
        return Ok(());
    };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match openat(&folder, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        other => other.map_err(|errno| removed(errno.to_string()))?,
    };
    let stat = fstat(&file).map_err(|errno| removed(errno.to_string()))?;
    let checked = checked(&file, content, rules, &path);
    let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
    settle(&folder, name, checked, None, mode).map_err(removed)?;
    // The host's root made the copy, and the file may be somebody else's.
    let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    let _ = chownat(
        &folder,
        name,
        Some(uid),
        Some(gid),
        AtFlags::SYMLINK_NOFOLLOW,
    );
    Ok(())
}
