//! One order for all sandboxes of this host that can write in one folder. What a broker decides of a name holds
//! as long as nothing is renamed meanwhile: its own programs wait for it, and the brokers of other sandboxes
//! take turns with it by locks on one file, each byte of which stands for a folder.
//!
//! Decision: a lock belongs to a descriptor that only the broker has (fcntl(2), *Open file description locks*),
//! so that it is gone when the broker is, and no sandboxed program can hold it. A broker that gets none does not
//! wait for it: its program does.

use crate::kernel::{is_locked, lock_range};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, fchmod, fstat, openat};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where the file may be, the first folder of these in which one can be made; nobody's environment changes that.
const FOLDERS: [&str; 2] = ["/dev/shm", "/tmp"];
const NAME: &str = ".bailiwick-order";
/// Folders are told from each other by so many parts of their paths, counted from the root.
const PARTS: usize = 8;
/// How often the lock is asked for before the program waits.
const TRIES: u32 = 200;

/// The file of all sandboxes of this host.
///
/// # Errors
/// Why it cannot be opened: without it nobody would know of the others.
pub(crate) fn open() -> Result<[OwnedFd; 2], (PathBuf, Errno)> {
    let mut last = (PathBuf::from(FOLDERS[0]).join(NAME), Errno::NOENT);
    for folder in FOLDERS {
        let path = Path::new(folder).join(NAME);
        // Locks belong to an opening of the file: those for turns, and those that stay.
        match open_at(&path).and_then(|turns| Ok([turns, open_at(&path)?])) {
            Ok(files) => return Ok(files),
            // For nobody is there anything to be made here.
            Err(errno @ (Errno::NOENT | Errno::NOTDIR | Errno::ROFS | Errno::NOSPC)) => {
                last = (path, errno)
            }
            Err(errno) => return Err((path, errno)),
        }
    }
    Err(last)
}

fn open_at(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let all = Mode::from_raw_mode(0o666);
    // A file of another user's may not be opened as if it were to be made, in a folder that all may write.
    let mut opened = openat(CWD, path, flags, Mode::empty());
    for _ in 0..8 {
        if !matches!(opened, Err(Errno::NOENT)) {
            break;
        }
        opened = match openat(CWD, path, flags | OFlags::CREATE | OFlags::EXCL, all) {
            // Whatever the mask: root and every user lock the same file.
            Ok(file) => fchmod(&file, all).map(|()| file),
            Err(Errno::EXIST) => openat(CWD, path, flags, Mode::empty()),
            Err(errno) => return Err(errno),
        };
    }
    let file = opened?;
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file),
        _ => Err(Errno::INVAL),
    }
}

/// The place of one sandbox in that order.
#[derive(Debug)]
pub(super) struct Order {
    file: OwnedFd,
    /// The same file, for locks that stay.
    stays: OwnedFd,
    /// Bytes of the file, and whether nobody else may have them meanwhile.
    bytes: Vec<(i64, bool)>,
}

/// The turn of this sandbox; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Order);

impl Order {
    /// The order for a sandbox that can write in these folders of the host.
    pub(super) fn of(file: OwnedFd, stays: OwnedFd, folders: &[PathBuf]) -> Self {
        // Whoever can write in a folder above, or below, has one of these bytes in common.
        let mut bytes = BTreeMap::new();
        for folder in folders {
            let parts: Vec<_> = folder.components().take(PARTS).collect();
            for length in 1..=parts.len() {
                let path: PathBuf = parts[..length].iter().collect();
                let exclusive = length == parts.len();
                *bytes.entry(byte(&path)).or_insert(false) |= exclusive;
            }
        }
        let order = Self {
            file,
            stays,
            bytes: bytes.into_iter().collect(),
        };
        order.stay(folders);
        order
    }

    /// Says for as long as the broker lives that these folders, and all above them, are somebody's workspace.
    fn stay(&self, folders: &[PathBuf]) {
        for folder in folders.iter().flat_map(|folder| folder.ancestors()) {
            lock_range(&self.stays, libc::F_RDLCK, stay(folder), 1);
        }
    }

    /// Whether another sandbox works in this folder, or below it: then it keeps its name, by which that one
    /// decides.
    pub(super) fn is_anothers(&self, folder: &Path) -> bool {
        is_locked(&self.stays, stay(folder))
    }

    /// Takes the turn; none where another sandbox has it for longer than an act takes.
    pub(super) fn take(&self) -> Option<Turn<'_>> {
        (0..TRIES).find_map(|_| {
            if self.bytes.iter().all(|(at, exclusive)| {
                let kind = if *exclusive {
                    libc::F_WRLCK
                } else {
                    libc::F_RDLCK
                };
                lock_range(&self.file, kind, *at, 1)
            }) {
                return Some(Turn(self));
            }
            self.release();
            rustix::thread::sched_yield();
            None
        })
    }

    fn release(&self) {
        lock_range(&self.file, libc::F_UNLCK, 0, 0);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// The byte of a folder.
fn byte(path: &Path) -> i64 {
    hash(path) >> 2
}

/// The byte of a folder that is somebody's workspace, or above one: none of those for turns.
fn stay(path: &Path) -> i64 {
    (hash(path) >> 2) | 1 << 61
}

fn hash(path: &Path) -> i64 {
    // FNV-1a: every version of the product has to come to the same number.
    let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = path
        .as_os_str()
        .as_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, hash);
    // An offset is not negative, and one more has to be.
    (hash >> 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(file: &Path, folders: &[&str]) -> Order {
        let [turns, stays] = [0; 2].map(|_| open_at(file).unwrap());
        let folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
        Order::of(turns, stays, &folders)
    }

    #[test]
    fn sandboxes_whose_folders_overlap_take_turns_and_others_do_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let at = |folders: &[&str]| order(file.path(), folders);
        let one = at(&["/home/u/code/a"]);
        let turn = one.take().unwrap();
        for other in [
            &["/home/u/code/a"][..],
            &["/home/u/code/a/b"],
            &["/home/u"],
            &["/x", "/home/u/code/a"],
            &["/"],
        ] {
            assert!(at(other).take().is_none(), "{other:?}");
        }
        for other in [&["/home/u/code/b"][..], &["/home/u/code/ab"], &["/srv"]] {
            assert!(at(other).take().is_some(), "{other:?}");
        }
        drop(turn);
        assert!(at(&["/home/u"]).take().is_some());
    }

    #[test]
    fn a_folder_in_which_another_works_is_known() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (one, other) = (
            order(file.path(), &["/ws"]),
            order(file.path(), &["/ws/a/b"]),
        );
        assert!(one.is_anothers(Path::new("/ws/a")) && one.is_anothers(Path::new("/ws/a/b")));
        assert!(!one.is_anothers(Path::new("/ws/a/b/c")) && !one.is_anothers(Path::new("/ws/b")));
        assert!(other.is_anothers(Path::new("/ws")) && !other.is_anothers(Path::new("/ws/a/b")));
        drop(other);
        assert!(!one.is_anothers(Path::new("/ws/a")));
    }

    #[test]
    fn every_user_can_open_the_file_and_nothing_else_is_taken_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("order");
        open_at(&path).unwrap();
        open_at(&path).unwrap();
        let mode = std::os::unix::fs::MetadataExt::mode(&path.metadata().unwrap());
        assert_eq!(mode & 0o777, 0o666);
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        assert!(open_at(&folder.path().join("link")).is_err());
        assert!(matches!(
            open_at(&folder.path().join("no/order")),
            Err(Errno::NOENT)
        ));
    }

    #[test]
    fn who_dies_leaves_no_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let one = order(file.path(), &["/ws"]);
        std::mem::forget(one.take().unwrap());
        assert!(order(file.path(), &["/ws"]).take().is_none());
        drop(one);
        assert!(order(file.path(), &["/ws"]).take().is_some());
    }

    #[test]
    fn folders_that_lie_deep_share_the_last_part_that_is_told_apart() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let deep = |name: &str| order(file.path(), &[&format!("/1/2/3/4/5/6/7/8/{name}")]);
        let one = deep("a");
        let _turn = one.take().unwrap();
        assert!(deep("b").take().is_none());
    }
}
