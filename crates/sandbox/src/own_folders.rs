//! The user's folders of the product's own files, where a program inside could make them: there must
//! be something to hide, or it makes `~/.config/bailiwick` itself and the next run obeys what lies
//! in it. What a run has made for that it takes away again at its end.
//!
//! Decision: a folder goes only when nobody hides it any more. The kernel takes a mount away with
//! the folder that it lies on, so a run that ends must not remove what another one's sandbox still
//! has hidden: each holds a shared lock on the folder, which no program inside can open, and only
//! who gets it alone removes. What was put there meanwhile, or lies there in the folder's place, stays.

use bailiwick_policy::{Effective, Request, resolve_existing};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, flock, fstat, openat, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

/// How often a folder that somebody else is removing just now is tried again.
const TRIES: u32 = 50;

/// Folders that are there for as long as this is.
#[derive(Default)]
pub(crate) struct OwnFolders(Vec<Held>);

/// One of them.
struct Held {
    /// The folder, locked.
    lock: OwnedFd,
    /// What was made for it, the innermost first; nothing where it was there.
    made: Vec<Made>,
}

/// A folder that this process has made.
struct Made {
    parent: OwnedFd,
    name: OsString,
    /// Its device and number.
    id: (u64, u64),
}

impl OwnFolders {
    /// Makes those that a program under this policy could make. Those of the system are others' as
    /// well, and not for one run to make.
    pub(crate) fn make(policy: &Effective, request: &Request) -> Self {
        let writable = |folder: &&Path| {
            let real = resolve_existing(folder);
            let mut writable = policy.filesystem.write.iter();
            writable.any(|entry| entry.pattern.covers(&real).is_some())
        };
        Self(
            request
                .own_folders()
                .filter(writable)
                .filter_map(hold)
                .collect(),
        )
    }
}

impl Drop for OwnFolders {
    fn drop(&mut self) {
        for held in &self.0 {
            let alone = || flock(&held.lock, FlockOperation::NonBlockingLockExclusive).is_ok();
            if !held.made.is_empty() && alone() {
                // The first that stays keeps those above it.
                let _ = held.made.iter().try_for_each(Made::remove);
            }
        }
    }
}

impl Made {
    fn new(path: &Path) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = openat(CWD, path.parent()?, flags, Mode::empty()).ok()?;
        let name = path.file_name()?.to_owned();
        let id = id_at(&parent, &name)?;
        Some(Self { parent, name, id })
    }

    /// Removes it where it is what was made, and empty: the kernel removes no other.
    fn remove(&self) -> Result<(), Errno> {
        match id_at(&self.parent, &self.name) == Some(self.id) {
            true => unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR),
            false => Err(Errno::NOENT),
        }
    }
}

/// The device and number of what lies in a folder under this name; no link is followed.
fn id_at(parent: &OwnedFd, name: &OsString) -> Option<(u64, u64)> {
    let found = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((found.st_dev, found.st_ino))
}

/// Makes a folder, where it is not there, and locks it; none where that cannot be done.
fn hold(folder: &Path) -> Option<Held> {
    for _ in 0..TRIES {
        let made = make(folder).ok()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, folder, flags, Mode::empty()) {
            Ok(lock) => match flock(&lock, FlockOperation::NonBlockingLockShared) {
                Ok(()) if is_still(folder, &lock) => return Some(Held { lock, made }),
                // Somebody is removing it, or has.
                Ok(()) | Err(Errno::AGAIN) => {}
                // A file system without locks: what is made there stays.
                Err(_) => {
                    let made = Vec::new();
                    return Some(Held { lock, made });
                }
            },
            Err(Errno::NOENT) => {}
            Err(_) => return None,
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

/// Whether the locked folder has not been removed by whoever had the lock before.
fn is_still(folder: &Path, lock: &OwnedFd) -> bool {
    match (fstat(lock), statat(CWD, folder, AtFlags::empty())) {
        (Ok(own), Ok(there)) => (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino),
        _ => false,
    }
}

/// Makes a folder and what is missing above it; what was made, the innermost first.
fn make(folder: &Path) -> io::Result<Vec<Made>> {
    let missing = |path: &&Path| path.symlink_metadata().is_err();
    let missing: Vec<&Path> = folder.ancestors().take_while(missing).collect();
    let mut made = Vec::new();
    for path in missing.into_iter().rev() {
        match std::fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => made.extend(Made::new(path)),
            // Another run was quicker; or one that ends has just removed what it lies in.
            Err(e) if matches!(e.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {}
            Err(e) => return Err(e),
        }
    }
    made.reverse();
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn held(folder: &Path) -> OwnFolders {
        OwnFolders(vec![hold(folder).unwrap()])
    }

    #[test]
    fn what_was_made_goes_and_what_was_there_or_was_put_there_stays() {
        let home = tempfile::tempdir().unwrap();
        let (config, own) = (home.path().join(".config"), home.path().join(".config/own"));
        drop(held(&own));
        assert!(!config.exists(), "both were made for it");
        let folders = held(&own);
        fs::write(config.join("mine"), "").unwrap();
        drop(folders);
        assert!(config.join("mine").exists() && !own.exists());
        let folders = held(&own);
        fs::write(own.join("policy.toml"), "").unwrap();
        drop(folders);
        assert!(own.join("policy.toml").exists());
        fs::remove_file(own.join("policy.toml")).unwrap();
        drop(held(&own));
        assert!(own.exists(), "it was there");
    }

    #[test]
    fn a_folder_that_another_run_hides_stays_whoever_ends_first() {
        let home = tempfile::tempdir().unwrap();
        let own = home.path().join("own");
        let (first, second) = (held(&own), held(&own));
        drop(first);
        assert!(own.exists());
        drop(second);
        assert!(own.exists(), "it was there when this one began");
    }

    #[test]
    fn what_lies_in_its_place_is_not_followed_and_stays() {
        let home = tempfile::tempdir().unwrap();
        let (own, else_) = (home.path().join("a/own"), home.path().join("else"));
        let folders = held(&own);
        fs::create_dir_all(else_.join("own")).unwrap();
        fs::rename(home.path().join("a"), home.path().join("b")).unwrap();
        std::os::unix::fs::symlink(&else_, home.path().join("a")).unwrap();
        drop(folders);
        assert!(else_.join("own").exists());
        assert!(
            !home.path().join("b/own").exists(),
            "its own, wherever it is now"
        );
    }
}
