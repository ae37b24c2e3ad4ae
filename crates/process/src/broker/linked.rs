//! Files with several names. Nobody knows where the other names of one are that was there before: package managers
//! link what they install to a store of theirs, and a local clone of git's has its objects from the repository that it
//! was made of. What is written by one name would change all of them, also where the sandbox sees none; so the name in
//! the sandbox gets a copy of its own first.

use super::act::{Context, Refused};
use super::attributes;
use super::path::shown;
use super::rename::{read, replace};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, Stat, Timespec, Timestamps, XattrFlags, accessat,
    fstat, getxattr, listxattr, openat, setxattr, statat, utimensat,
};
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, OsStr};
use std::path::{Path, PathBuf};

/// A file is copied that has at most so many bytes; a program can copy a larger one itself.
const LARGEST: usize = 64 << 20;

/// So many names are known; of more, what they are names of is copied as if nobody knew them.
const NAMES: usize = 100_000;

/// Files that had one name until a program of the run gave them another: device and number of each, with all its names.
#[derive(Debug, Default)]
pub(super) struct Linked(RefCell<Known>);

#[derive(Debug, Default)]
struct Known {
    files: BTreeMap<(u64, u64), Vec<PathBuf>>,
    /// How many names these are.
    names: usize,
}

impl Linked {
    /// Notes a file of this name that gets one more.
    pub(super) fn add(&self, stat: &Stat, name: &Path, new: &Path) {
        let id = (stat.st_dev, stat.st_ino);
        let mut known = self.0.borrow_mut();
        if known.names >= NAMES {
            *known = Known::default();
        }
        // A number is given to another file as soon as the first is gone.
        if stat.st_nlink <= 1 {
            let old = known.files.insert(id, vec![name.to_path_buf()]);
            known.names += 1;
            known.names -= old.map_or(0, |old| old.len());
        }
        if let Some(names) = known.files.get_mut(&id) {
            names.push(new.to_path_buf());
            known.names += 1;
        }
    }

    /// Whether a file has names that nobody in the run has given it.
    fn has_others(&self, stat: &Stat) -> bool {
        let id = (stat.st_dev, stat.st_ino);
        let named = |name: &&PathBuf| {
            let there = statat(CWD, name.as_path(), AtFlags::SYMLINK_NOFOLLOW);
            there.is_ok_and(|there| (there.st_dev, there.st_ino) == id)
        };
        let known = || {
            let all = self.0.borrow();
            let names: BTreeSet<&PathBuf> = all.files.get(&id).into_iter().flatten().collect();
            names.into_iter().filter(named).count() as u64
        };
        let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        plain && stat.st_nlink > 1 && stat.st_nlink > known()
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
        let copy = openat(folder, name, flags, Mode::empty())?;
        copy_attributes(found, &copy).map_err(|_| self.shares(path))?;
        Ok(Some(copy))
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

/// Gives a copy the extended attributes of a file, and its access list, as far as they are the user's to set.
fn copy_attributes(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    let at = |file: &OwnedFd| format!("/proc/self/fd/{}", file.as_raw_fd());
    let (from, to) = (at(from), at(to));
    let mut names = vec![0; attributes::VALUE];
    let length = match listxattr(&from, &mut names) {
        Err(Errno::NOTSUP) => return Ok(()),
        length => length?,
    };
    let mut value = vec![0; attributes::VALUE];
    for name in names[..length].split_inclusive(|byte| *byte == 0) {
        let name = CStr::from_bytes_with_nul(name).map_err(|_| Errno::INVAL)?;
        let text = name.to_bytes();
        if text.starts_with(b"user.") || text == attributes::ACCESS_LIST {
            let length = getxattr(&from, name, &mut value)?;
            setxattr(&to, name, &value[..length], XattrFlags::empty())?;
        }
    }
    Ok(())
}

/// Whether this process may write a file; where it may not, the kernel tells its program.
pub(super) fn may_write(file: &OwnedFd) -> bool {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    accessat(CWD, link, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}
