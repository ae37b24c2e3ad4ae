//! Lock files of git that a program has made and not taken away when it ended: nobody else takes them away, and
//! git refuses to work beside them.

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, fstat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// So many are remembered before those that are gone are forgotten.
const MANY: usize = 64;

/// A lock file.
#[derive(Debug)]
pub(super) struct Lock {
    folder: OwnedFd,
    name: OsString,
    /// Its device and number there: what another program puts in its place is not this one.
    file: (u64, u64),
    /// Where it is.
    path: PathBuf,
    /// The program that has made it.
    process: u32,
}

/// Whether git takes a file of this name in one of its folders for a lock.
pub(super) fn is_lock(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".lock")
}

impl Lock {
    /// A file that a program has made just now.
    pub(super) fn new(
        (folder, name): (OwnedFd, OsString),
        path: PathBuf,
        file: &OwnedFd,
        process: u32,
    ) -> Result<Self, Errno> {
        let stat = fstat(file)?;
        let file = (stat.st_dev, stat.st_ino);
        Ok(Self {
            folder,
            name,
            file,
            path,
            process,
        })
    }

    /// Where it is, as a path inside, and its device and number there.
    pub(super) fn told(&self) -> (&Path, (u64, u64)) {
        (&self.path, self.file)
    }

    fn is_there(&self) -> bool {
        statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| (stat.st_dev, stat.st_ino) == self.file)
    }
}

/// Those of a sandbox.
#[derive(Debug, Default)]
pub(super) struct Locks {
    held: Vec<Lock>,
    /// How many files got another name, or lost theirs, since all locks were looked at.
    moved: usize,
}

impl Locks {
    pub(super) fn add(&mut self, lock: Lock) {
        if self.held.len() % MANY == MANY - 1 {
            self.held.retain(Lock::is_there);
        }
        // Whoever makes so many has no use for them.
        if self.held.len() < 16 * MANY {
            self.held.push(lock);
        }
    }

    /// Forgets those that are gone, after a file got another name or lost its own. Whether that were the last.
    /// Many are not looked at each time: a change of many branches has a lock for each.
    pub(super) fn pass(&mut self) -> bool {
        self.moved += 1;
        if self.held.is_empty() || self.moved * 4 < self.held.len() {
            return false;
        }
        self.moved = 0;
        self.held.retain(Lock::is_there);
        self.held.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether the lock that was made at a path is there.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.held
            .iter()
            .any(|lock| lock.path == path && lock.is_there())
    }

    /// The lock of an index that one of these programs holds: it is about to check something out.
    pub(super) fn of_index(&self, processes: &[u32]) -> Option<&Path> {
        let mut held = self.held.iter().rev();
        let held = held.find(|lock| {
            lock.name == "index.lock" && processes.contains(&lock.process) && lock.is_there()
        });
        held.map(|lock| lock.path.as_path())
    }

    /// Takes away what is there still, when nobody is left whose lock it could be.
    pub(super) fn release(&mut self) {
        for lock in self.held.drain(..).filter(Lock::is_there) {
            let _ = unlinkat(&lock.folder, &lock.name, AtFlags::empty());
        }
    }
}
