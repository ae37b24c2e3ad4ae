//! Files with several names. Nobody knows where the other names of one are that was there before: package managers
//! link what they install to a store of theirs, and a local clone of git's has its objects from the repository that it
//! was made of. What is written by one name would change all of them, also where the sandbox sees none; so the name in
//! the sandbox gets a copy of its own first.

use super::act::{Context, Refused};
use super::path::shown;
use super::rename::{read, replace};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, Stat, Timespec, Timestamps, accessat, fstat,
    openat, statat, utimensat,
};
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

/// A file is copied that has at most so many bytes; a program can copy a larger one itself.
const LARGEST: usize = 64 << 20;

/// Files that had one name until a program of the run gave them another: device and number of each.
#[derive(Debug, Default)]
pub(super) struct Linked(RefCell<HashSet<(u64, u64)>>);

impl Linked {
    /// Notes a file that gets one more name.
    pub(super) fn add(&self, stat: &Stat) {
        if stat.st_nlink <= 1 {
            self.0.borrow_mut().insert((stat.st_dev, stat.st_ino));
        }
    }

    /// Whether a file has names that nobody in the run has given it.
    fn has_others(&self, stat: &Stat) -> bool {
        let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let known = || self.0.borrow().contains(&(stat.st_dev, stat.st_ino));
        plain && stat.st_nlink > 1 && !known()
    }
}

impl Context<'_> {
    /// Whether a file in a folder of the host's has names that may lie anywhere.
    fn is_shared(&self, path: &Path, file: &OwnedFd) -> Result<bool, Errno> {
        Ok(self.rules.is_kept(path) && self.linked.has_others(&fstat(file)?))
    }

    /// The file that is written instead of one with names that may lie anywhere; none where it has no others.
    /// `empties` says that nothing of what it says is kept.
    pub(super) fn separate(
        &self,
        (folder, name): (&OwnedFd, &OsStr),
        path: &Path,
        found: &OwnedFd,
        empties: bool,
    ) -> Result<Option<OwnedFd>, Refused> {
        if !self.is_shared(path, found)? {
            return Ok(None);
        }
        let stat = fstat(found)?;
        let text = match empties {
            true => Vec::new(),
            false => match read(found, LARGEST)? {
                Some((text, _)) => text,
                None => return Err(self.shares(path)),
            },
        };
        let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
        replace(folder, name, &text, mode).map_err(|_| self.shares(path))?;
        let time = |tv_sec, tv_nsec: u64| Timespec {
            tv_sec,
            tv_nsec: tv_nsec.cast_signed(),
        };
        let times = Timestamps {
            last_access: time(stat.st_atime, stat.st_atime_nsec),
            last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
        };
        utimensat(folder, name, &times, AtFlags::SYMLINK_NOFOLLOW)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Some(openat(folder, name, flags, Mode::empty())?))
    }

    /// The same of a file that is known by a descriptor.
    pub(super) fn separate_named(&self, path: &Path, file: OwnedFd) -> Result<OwnedFd, Refused> {
        let owned = fstat(&file)?.st_uid == rustix::process::geteuid().as_raw();
        if !self.is_shared(path, &file)? || !owned && !may_write(&file) {
            return Ok(file);
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(self.shares(path));
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(CWD, parent, flags, Mode::empty())?;
        let (own, named) = (
            fstat(&file)?,
            statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?,
        );
        let same = (own.st_dev, own.st_ino) == (named.st_dev, named.st_ino);
        if !same || shown(folder.as_fd())? != parent {
            return Err(self.shares(path));
        }
        let copy = self.separate((&folder, name), path, &file, false)?;
        Ok(copy.unwrap_or(file))
    }

    /// Refuses to write a file that cannot be copied by its name.
    pub(super) fn must_not_be_shared(&self, path: &Path, file: &OwnedFd) -> Result<(), Refused> {
        match self.is_shared(path, file)? {
            true => Err(self.shares(path)),
            false => Ok(()),
        }
    }

    fn shares(&self, path: &Path) -> Refused {
        let reason =
            "the file has another name, maybe outside: copy it, and put the copy in its place";
        Refused::by(self.rules.git(path).unwrap_or_default(), path, reason)
    }
}

/// Whether this process may write a file; where it may not, the kernel tells its program.
pub(super) fn may_write(file: &OwnedFd) -> bool {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    accessat(CWD, link, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}
