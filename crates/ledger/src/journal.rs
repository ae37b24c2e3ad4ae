//! The journal's file. It is sparse, and its blocks are reserved before bytes are copied into
//! the mapping: a full disk is then an error of a call and not a signal that kills the
//! supervisor. Who holds its lock is alive; the kernel takes the lock away from the dead.

use crate::LedgerError;
use crate::layout::{HEADER, RING};
use rustix::fs::{AtFlags, CWD, FallocateFlags, FlockOperation, OFlags, fallocate, flock, linkat};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Blocks are reserved in pieces of this size; most sessions need one.
const PIECE: u64 = 64 * 1024;

/// A journal that this process writes.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    /// Bytes of the file for which there are blocks.
    reserved: u64,
}

impl Journal {
    /// Makes the journal of a new session and locks it.
    pub(crate) fn create(path: &Path) -> Result<Self, LedgerError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(LedgerError::io("create", path))?;
        Self::begin(file, path)
    }

    /// Makes one in a folder that has no name there: where it never gets one nothing is left of it.
    pub(crate) fn unnamed(folder: &Path) -> Result<Self, LedgerError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .mode(0o600)
            .custom_flags(OFlags::TMPFILE.bits().cast_signed())
            .open(folder)
            .map_err(LedgerError::io("create a file in", folder))?;
        Self::begin(file, folder)
    }

    fn begin(file: File, path: &Path) -> Result<Self, LedgerError> {
        // Waits only for a listing that looks at the new file in this very moment.
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|e| LedgerError::io("lock", path)(e.into()))?;
        file.set_len((HEADER + RING) as u64)
            .map_err(LedgerError::io("create", path))?;
        let mut journal = Self { file, reserved: 0 };
        journal
            .reserve(HEADER as u64)
            .map_err(LedgerError::io("write", path))?;
        Ok(journal)
    }

    /// Gives one that has no name its name.
    pub(crate) fn name(&self, path: &Path) -> Result<(), LedgerError> {
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW)
            .map_err(|e| LedgerError::io("create", path)(e.into()))
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Makes sure that there are blocks for the first `bytes` of the file.
    pub(crate) fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        let all = (HEADER + RING) as u64;
        while self.reserved < bytes.min(all) {
            let len = PIECE.min(all - self.reserved);
            match fallocate(&self.file, FallocateFlags::empty(), self.reserved, len) {
                // A file system without it: zeros take the blocks as well.
                Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
                Err(Errno::INTR) => continue,
                Err(e) => return Err(e.into()),
            }
            // Where they are written the pages are there when the mapping's are touched; ext4 takes
            // ten times as long to find the contents of blocks that have none.
            self.file
                .write_all_at(&[0; PIECE as usize][..len as usize], self.reserved)?;
            self.reserved += len;
        }
        Ok(())
    }

    /// Says that the session is over. A child that still has the descriptor must not keep the
    /// session alive, so the lock is given back and not only let go of.
    pub(crate) fn unlock(self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Whether the journal's supervisor is alive.
pub(crate) fn is_live(path: &Path) -> bool {
    match try_lock(path) {
        Ok(lock) => lock.is_none(),
        // No journal, no supervisor.
        Err(_) => false,
    }
}

/// Takes the lock of a dead session's journal; none where the session is alive.
pub(crate) fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().read(true).open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(e) => Err(e.into()),
    }
}
