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
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    /// What was free before.
    room: AtomicU64,
    /// Whether the limit was reached, which is told once.
    told: AtomicBool,
}

impl Disk {
    /// A limit on the growth of these folders, from now on.
    pub(crate) fn new(folders: Vec<PathBuf>, limit: u64) -> Self {
        let disk = Self {
            folders,
            limit,
            before: AtomicU64::new(0),
            room: AtomicU64::new(0),
            told: AtomicBool::new(false),
        };
        disk.begins();
        disk
    }

    /// Counts from now on.
    pub(crate) fn begins(&self) {
        self.before.store(self.used(), Ordering::Relaxed);
        self.room.store(self.free(), Ordering::Relaxed);
    }

    /// Watches until the limit is reached, which is then reported, and ends the sandbox.
    pub(crate) fn keep(&self, control: &OwnedFd, end: fn()) {
        let mut looked = Instant::now();
        let mut free = self.room.load(Ordering::Relaxed);
        let mut pause = LOOK;
        loop {
            std::thread::sleep(GLANCE);
            // A file system that loses half of the limit meanwhile is looked at at once.
            let hurry = free.saturating_sub(self.free()) > self.limit / 2;
            if looked.elapsed() < pause && !hurry {
                continue;
            }
            looked = Instant::now();
            if let Some(observed) = self.look() {
                let kind = LimitKind::Disk;
                let _ = tell(control, &Report::Limit { kind, observed });
                end();
                return;
            }
            free = self.free();
            pause = LOOK.max(looked.elapsed() * SHARE);
        }
    }

    /// What was written when nothing runs any more, and all that ran has been waited for, where that is
    /// over the limit and was not told.
    pub(crate) fn last_look(&self) -> Option<u64> {
        let room = self.room.load(Ordering::Relaxed);
        // Others may have freed meanwhile what was lost here.
        let lost = room.saturating_sub(self.free()).max(written());
        (lost > self.limit / 2).then(|| self.look()).flatten()
    }

    /// What was written, where that is over the limit and was not told.
    fn look(&self) -> Option<u64> {
        let grown = self
            .used()
            .saturating_sub(self.before.load(Ordering::Relaxed));
        (grown > self.limit && !self.told.swap(true, Ordering::Relaxed)).then_some(grown)
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

/// Bytes that processes wrote which were waited for, and theirs; none where files are in memory
/// (`ru_oublock` of getrusage(2), which counts pages of files that become dirty, in units of 512 bytes).
fn written() -> u64 {
    // SAFETY: all-zero is a valid `rusage`, which the call below overwrites.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: it writes to `usage` alone, which lives through the call.
    let asked = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    match asked {
        0 => u64::try_from(usage.ru_oublock).unwrap_or(0) * 512,
        _ => u64::MAX,
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
    #[test]
    fn what_others_free_meanwhile_hides_nothing_that_was_written() {
        // Beside the test's own file, which is not in memory.
        let own = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir_in(own.parent().unwrap()).unwrap();
        let disk = Disk::new(vec![folder.path().into()], 1 << 20);
        let write = "head -c 3000000 /dev/zero > new; sync";
        let mut shell = std::process::Command::new("sh");
        let wrote = shell.args(["-c", write]).current_dir(&folder).status();
        assert!(wrote.unwrap().success());
        // As if there were more room than before.
        disk.room.store(0, Ordering::Relaxed);
        assert!(disk.last_look().unwrap() >= 3_000_000);
        // It is told once.
        assert_eq!(disk.last_look(), None);
    }
}
