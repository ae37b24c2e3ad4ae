//! What the files below some folders take, added up by names that are relative to opened folders: so no
//! path is too long to be counted.

use crate::kernel;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat, fstat, openat, stat, statat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::path::Path;
use std::rc::Rc;

/// What a file takes at least, its name and its entry in the file system's table: else files without
/// content would be free.
pub(super) const FILE: u64 = 1024;
/// How long a relative name may get before the folder that it leads to is held open instead. The kernel
/// takes names of up to 4,095 bytes, and a part of one is at most 255.
const LONG: usize = 2048;

/// What files take, and what of it could not be seen.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Bytes on disk of all files, each once.
    pub(super) bytes: u64,
    /// Folders that could neither be read nor gone through, which the sandbox's own user can have changed.
    hidden: HashSet<Hidden>,
    /// Whether there is one that cannot be read and can be gone through: what is in it may change, and
    /// nothing tells.
    is_blind: bool,
}

/// A folder as it was when nobody could read it or go through it. Whoever opens it to himself changes the
/// time.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Hidden {
    device: u64,
    inode: u64,
    changed: (i64, u64),
}

impl Usage {
    /// What the files below these folders take now; once that is more than `most` nobody looks further.
    pub(super) fn of<F: AsRef<Path>>(folders: &[F], most: u64) -> Self {
        // A folder that a command keeps from itself is counted as any other, where that can be had.
        let _reads = kernel::reading_everything();
        let mut walk = Walk::default();
        for folder in folders {
            let folder = folder.as_ref();
            match openat(CWD, folder, FOLDER, Mode::empty()) {
                Ok(opened) => walk.entries(None, c"", opened),
                Err(errno) => walk.unopened(errno, || stat(folder), || stat(folder.join("."))),
            }
        }
        while let Some((base, name)) = walk.left.pop()
            && walk.usage.bytes <= most
        {
            let ask = |name: &CStr| statat(&*base, name, AtFlags::SYMLINK_NOFOLLOW);
            match openat(&*base, &name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(opened) => walk.entries(Some(&base), &name, opened),
                Err(errno) => {
                    walk.unopened(errno, || ask(&name), || ask(&below(&name, c".")));
                }
            }
        }
        walk.usage
    }

    /// Bytes by which this is more than `before`, where that is over the limit. Of what was hidden since
    /// nobody knows how much it is: it counts as one byte too much.
    pub(super) fn over(&self, limit: u64, before: &Self) -> Option<u64> {
        let grown = self.bytes.saturating_sub(before.bytes);
        let hides = self.is_blind || !self.hidden.is_subset(&before.hidden);
        (grown > limit || hides).then(|| grown.max(limit.saturating_add(1)))
    }
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Folders that are left to be read, each by a name below an opened folder.
#[derive(Default)]
struct Walk {
    left: Vec<(Rc<OwnedFd>, CString)>,
    linked: HashSet<(u64, u64)>,
    usage: Usage,
}

impl Walk {
    /// The entries of an opened folder, whose name below `base` this is.
    fn entries(&mut self, base: Option<&Rc<OwnedFd>>, name: &CStr, folder: OwnedFd) {
        // Names can be listed where nothing can be asked of what they name.
        if statat(&folder, c".", AtFlags::empty()).err() == Some(Errno::ACCESS) {
            return self.unread(fstat(&folder));
        }
        let folder = Rc::new(folder);
        // From where the names of the folders in it lead on.
        let base = base.filter(|_| name.to_bytes().len() < LONG);
        let mut buffer = [MaybeUninit::uninit(); 32 << 10];
        let mut entries = RawDir::new(&*folder, &mut buffer);
        while let Some(entry) = entries.next() {
            let Ok(entry) = entry else {
                return self.unread(fstat(&*folder));
            };
            let own = entry.file_name();
            if matches!(own.to_bytes(), b"." | b"..") {
                continue;
            }
            let Ok(stat) = statat(&*folder, own, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            self.count(&stat);
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                self.left.push(match base {
                    Some(base) => (Rc::clone(base), below(name, own)),
                    None => (Rc::clone(&folder), own.to_owned()),
                });
            }
        }
    }

    fn count(&mut self, stat: &Stat) {
        if stat.st_nlink == 1 || self.linked.insert((stat.st_dev, stat.st_ino)) {
            self.usage.bytes += (stat.st_blocks.unsigned_abs() * 512).max(FILE);
        }
    }

    /// A folder that cannot be opened to be read: `stat` asks about it, and `through` about what is in it.
    fn unopened(
        &mut self,
        errno: Errno,
        stat: impl FnOnce() -> rustix::io::Result<Stat>,
        through: impl FnOnce() -> rustix::io::Result<Stat>,
    ) {
        match errno {
            // It has gone meanwhile, or is none any more.
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => {}
            _ if through().is_ok() => self.usage.is_blind = true,
            _ => self.unread(stat()),
        }
    }

    /// A folder that can neither be read nor gone through. Somebody else's the commands cannot open either.
    fn unread(&mut self, stat: rustix::io::Result<Stat>) {
        let Ok(stat) = stat else { return };
        if stat.st_uid == rustix::process::geteuid().as_raw() {
            self.usage.hidden.insert(Hidden {
                device: stat.st_dev,
                inode: stat.st_ino,
                changed: (stat.st_ctime, stat.st_ctime_nsec),
            });
        }
    }
}

/// The name `own` in the folder `name`.
fn below(name: &CStr, own: &CStr) -> CString {
    let mut bytes = name.to_bytes().to_vec();
    bytes.push(b'/');
    bytes.extend(own.to_bytes());
    // Neither part has a zero byte.
    CString::new(bytes).unwrap_or_default()
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
