//! A folder of the host for the temporary files of a sandbox that has no root of its own.
//!
//! Decision: it is locked as long as its supervisor lives. A supervisor that is killed removes
//! nothing: pid 1's stand-in then empties the folder, and the next sandbox of the workspace removes
//! those that nobody holds any more.

use crate::plan::not_made;
use bailiwick_event::Failure;
use rustix::fs::{FlockOperation, flock};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The folder; dropping it removes it.
pub(crate) struct Scratch {
    path: PathBuf,
    /// None where the file system has no locks: then nobody else takes the folder for abandoned.
    _held: Option<File>,
}

impl Scratch {
    /// Makes one below `private` for the sandbox with this process.
    pub(crate) fn make(private: &Path, pid: i32) -> Result<Self, Failure> {
        let all = private.join("tmp");
        // Process ids come again, and a container has its own.
        let now = clock_gettime(ClockId::Monotonic);
        let path = all.join(format!("{pid}.{}.{}", now.tv_sec, now.tv_nsec));
        let make = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&all)?;
            // Nobody looks for abandoned ones until this one is held.
            let _alone = lock(&all, FlockOperation::LockExclusive);
            remove_abandoned(&all)?;
            DirBuilder::new().mode(0o700).create(&path)?;
            Ok(lock(&path, FlockOperation::NonBlockingLockExclusive))
        };
        let held = make().map_err(|error: io::Error| not_made(&path, &error))?;
        Ok(Self { path, _held: held })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is in a folder of the product's own.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what was left behind where nobody could.
fn remove_abandoned(all: &Path) -> io::Result<()> {
    for entry in fs::read_dir(all)?.flatten() {
        let path = entry.path();
        if lock(&path, FlockOperation::NonBlockingLockExclusive).is_some() {
            let _ = fs::remove_dir_all(&path);
        }
    }
    Ok(())
}

/// The folder, locked; none where another holds it.
fn lock(folder: &Path, how: FlockOperation) -> Option<File> {
    let folder = File::open(folder).ok()?;
    flock(&folder, how).ok()?;
    Some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn what_is_held_stays_and_what_is_abandoned_goes() {
        let private = tempfile::tempdir().unwrap();
        let all = private.path().join("tmp");
        let first = Scratch::make(private.path(), 7).unwrap();
        fs::write(first.path().join("file"), "").unwrap();
        let abandoned = all.join("8.1.1");
        fs::create_dir_all(abandoned.join("folder")).unwrap();
        let second = Scratch::make(private.path(), 7).unwrap();
        assert_ne!(first.path(), second.path());
        assert!(first.path().join("file").exists() && !abandoned.exists());
        drop(first);
        assert_eq!(names(&all), 1);
        drop(second);
        assert_eq!(names(&all), 0);
    }
}
