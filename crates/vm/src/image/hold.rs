//! A running machine's claim on the parts that it reads.
//!
//! Decision: a shared lock on each part itself. It ends with the process whatever becomes of it, and
//! `collect` removes no part of which it cannot have the exclusive lock.

use super::cache::fault;
use super::{Image, manifest};
use bailiwick_event::Failure;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;

/// Parts that nobody removes, until it is dropped. The descriptors are closed on exec.
#[derive(Debug)]
pub struct Hold {
    _parts: [File; 2],
}

impl Image {
    /// Keeps `bailiwick image gc` from removing what this image consists of.
    ///
    /// # Errors
    /// A fault, if a part was removed since the image was opened, or cannot be locked.
    pub fn hold(&self) -> Result<Hold, Failure> {
        Ok(Hold {
            _parts: [self.hold_part(&self.kernel)?, self.hold_part(&self.rootfs)?],
        })
    }

    fn hold_part(&self, path: &std::path::Path) -> Result<File, Failure> {
        let file = File::open(path).map_err(|e| fault("opened", path, &e))?;
        while let Err(e) = flock(&file, FlockOperation::LockShared) {
            if e != rustix::io::Errno::INTR {
                return Err(fault("locked", path, &e.into()));
            }
        }
        // It may have been removed while its lock was waited for.
        let here = fs::metadata(path).map(|m| (m.dev(), m.ino())).ok();
        let held = file.metadata().map(|m| (m.dev(), m.ino())).ok();
        if here.is_none() || here != held {
            return Err(Failure::fault(format!(
                "the image \"{}\" was replaced this moment; start again, or {}",
                self.name,
                manifest::remedy(&self.name)
            )));
        }
        Ok(file)
    }
}
