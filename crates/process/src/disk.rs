//! The limit on how much the writable folders of the host may grow. No kernel interface keeps it
//! for an ordinary user, so a thread of pid 1 looks from time to time; what is written between two
//! looks is over the limit, as the documentation says.

use crate::message::{Report, tell};
use bailiwick_event::LimitKind;
use rustix::fd::OwnedFd;
use rustix::fs::statvfs;
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often to ask the file system how much is free, which costs nothing.
const GLANCE: Duration = Duration::from_millis(10);
/// How often to add up the files at the least.
const LOOK: Duration = Duration::from_millis(250);
/// What a file takes at least, its name and its entry in the file system's table: else files without
/// content would be free.
const FILE: u64 = 1024;
/// Adding up takes at most this part of the time.
const SHARE: u32 = 10;

/// The folders and the limit.
pub(crate) struct Disk {
    folders: Vec<PathBuf>,
    limit: u64,
    before: AtomicU64,
    /// Whether the limit was reached, which is told once; held while it is looked at and told, so that
    /// nobody takes for told what somebody else is about to tell.
    told: Mutex<bool>,
}

impl Disk {
    /// A limit on the growth of these folders, from now on.
    pub(crate) fn new(folders: Vec<PathBuf>, limit: u64) -> Self {
        let disk = Self {
            folders,
            limit,
            before: AtomicU64::new(0),
            told: Mutex::new(false),
        };
        disk.begins();
        disk
    }

    /// Counts from now on.
    pub(crate) fn begins(&self) {
        self.before.store(self.used(), Ordering::Relaxed);
    }

    /// Watches until the limit is reached, which is then reported, and ends the sandbox.
    pub(crate) fn keep(&self, control: &OwnedFd, end: fn()) {
        let mut looked = Instant::now();
        let mut free = self.free();
        let mut pause = LOOK;
        loop {
            std::thread::sleep(GLANCE);
            // A file system that loses half of the limit meanwhile is looked at at once.
            let hurry = free.saturating_sub(self.free()) > self.limit / 2;
            if looked.elapsed() < pause && !hurry {
                continue;
            }
            looked = Instant::now();
            if self.look(control) {
                end();
                return;
            }
            free = self.free();
            pause = LOOK.max(looked.elapsed() * SHARE);
        }
    }

    /// Adds up what was written, and reports it where that is over the limit and was not told. Also called
    /// when nothing runs any more: what was lost of the file system's room says nothing then, because others
    /// may have freed as much.
    pub(crate) fn look(&self, control: &OwnedFd) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if *told {
            return false;
        }
        let before = self.before.load(Ordering::Relaxed);
        let observed = self.used().saturating_sub(before);
        if observed <= self.limit {
            return false;
        }
        *told = true;
        let kind = LimitKind::Disk;
        let _ = tell(control, &Report::Limit { kind, observed });
        true
    }

    /// Free bytes, and room for files, of the file systems of the folders.
    fn free(&self) -> u64 {
        let free = |folder: &PathBuf| {
            statvfs(folder).map_or(0, |s| {
                (s.f_bavail * s.f_frsize).saturating_add(s.f_favail.saturating_mul(FILE))
            })
        };
        self.folders.iter().map(free).fold(0, u64::saturating_add)
    }

    /// Bytes on disk of all files, each once.
    fn used(&self) -> u64 {
        let mut counted = HashSet::new();
        let mut sum = 0;
        let mut folders = self.folders.clone();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(meta) = entry.metadata() else { continue };
                if meta.is_dir() {
                    folders.push(entry.path());
                }
                if meta.nlink() == 1 || counted.insert((meta.dev(), meta.ino())) {
                    sum += (meta.blocks() * 512).max(FILE);
                }
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_counted_once_per_file_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("old"), vec![1; 100_000]).unwrap();
        let disk = Disk::new(vec![folder.path().into()], 0);
        let grown = || disk.used() - disk.before.load(Ordering::Relaxed);
        assert_eq!(grown(), 0);
        fs::create_dir(at("d")).unwrap();
        fs::write(at("d/new"), vec![1; 100_000]).unwrap();
        let once = grown();
        assert!((100_000..130_000).contains(&once), "{once}");
        fs::hard_link(at("d/new"), at("second")).unwrap();
        std::os::unix::fs::symlink("/usr", at("link")).unwrap();
        assert!(grown() < once + 9_000, "{}", grown());
        let before = grown();
        for number in 0..100 {
            fs::write(at(&number.to_string()), "").unwrap();
        }
        assert!(grown() >= before + 100 * FILE, "{}", grown());
        disk.begins();
        assert_eq!(grown(), 0);
    }
}
