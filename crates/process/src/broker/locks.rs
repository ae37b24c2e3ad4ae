//! Lock files of git that a program has made and not taken away when it ended: nobody else takes them away, and
//! git refuses to work beside them.

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, fstat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};

/// So many are remembered before those that are gone are forgotten.
const MANY: usize = 64;

/// A lock file.
#[derive(Debug)]
pub(super) struct Lock {
    folder: OwnedFd,
    name: OsString,
    /// Its device and number there: what another program puts in its place is not this one.
    file: (u64, u64),
}

/// Whether git takes a file of this name in one of its folders for a lock.
pub(super) fn is_lock(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".lock")
}

impl Lock {
    /// A file that was made just now.
    pub(super) fn new(folder: OwnedFd, name: OsString, file: &OwnedFd) -> Result<Self, Errno> {
        let stat = fstat(file)?;
        let file = (stat.st_dev, stat.st_ino);
        Ok(Self { folder, name, file })
    }

    fn is_there(&self) -> bool {
        statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| (stat.st_dev, stat.st_ino) == self.file)
    }
}

/// Those of a sandbox.
#[derive(Debug, Default)]
pub(super) struct Locks(Vec<Lock>);

impl Locks {
    pub(super) fn add(&mut self, lock: Lock) {
        if self.0.len() % MANY == MANY - 1 {
            self.0.retain(Lock::is_there);
        }
        // Whoever makes so many has no use for them.
        if self.0.len() < 16 * MANY {
            self.0.push(lock);
        }
    }

    /// Takes away what is there still, when nobody is left whose lock it could be.
    pub(super) fn release(&mut self) {
        for lock in self.0.drain(..).filter(Lock::is_there) {
            let _ = unlinkat(&lock.folder, &lock.name, AtFlags::empty());
        }
    }
}
