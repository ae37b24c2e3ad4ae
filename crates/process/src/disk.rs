//! The limit on how much the writable folders of the host may grow. No kernel interface keeps it
//! for an ordinary user, so a thread of pid 1 looks from time to time; what is written between two
//! looks is over the limit, as the documentation says.

mod usage;

use crate::message::{Report, tell};
use bailiwick_event::LimitKind;
use rustix::fd::OwnedFd;
use rustix::fs::statvfs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use usage::{FILE, Usage};

/// How often to ask the file system how much is free, which costs nothing.
const GLANCE: Duration = Duration::from_millis(10);
/// How often to add up the files at the least.
const LOOK: Duration = Duration::from_millis(250);
/// Adding up takes at most this part of the time.
const SHARE: u32 = 10;

/// The folders and the limit.
pub(crate) struct Disk {
    folders: Vec<PathBuf>,
    limit: u64,
    before: Mutex<Usage>,
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
            before: Mutex::default(),
            told: Mutex::new(false),
        };
        disk.begins();
        disk
    }

    /// Counts from now on.
    pub(crate) fn begins(&self) {
        let used = Usage::of(&self.folders, u64::MAX);
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = used;
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
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let used = Usage::of(&self.folders, before.bytes.saturating_add(self.limit));
        let Some(observed) = used.over(self.limit, &before) else {
            return false;
        };
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
}
