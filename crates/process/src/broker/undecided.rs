//! Files of git that a program was writing where they are when pid 1 was killed (by a limit, by the kernel's
//! want of memory, by the user). Pid 1 would have decided them by what they say; the supervisor does it then.

use super::rules::Rules;
use super::watched::{checked, settle};
use crate::git::{self, Meaning};
use crate::mounts::open_without_links;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, chownat, fstat, openat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// So many files may be written in a run where they are.
pub(super) const MOST: usize = 10_000;

/// What pid 1 has not decided.
#[derive(Debug, Default)]
pub(crate) struct Undecided {
    /// As paths inside.
    paths: BTreeSet<PathBuf>,
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

    /// Pid 1 has decided all of them.
    pub(crate) fn clear(&mut self) {
        self.paths.clear();
    }

    /// Decides them: a copy takes the place of what is harmless, because somebody may have it open still, and
    /// what is not goes. Nothing of the sandbox may run any more.
    pub(crate) fn decide(&mut self, rules: &Rules) -> Vec<Removed> {
        let paths = std::mem::take(&mut self.paths);
        let removed = |path: &PathBuf| decide(rules, path).err();
        paths.iter().filter_map(removed).collect()
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
