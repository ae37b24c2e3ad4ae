//! Writes a session's own disk back every few seconds. The kernel leaves a program's data in memory for half
//! a minute: a machine that is ended without notice would lose all of that.

use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat, syncfs};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::io;
use std::time::Duration;

/// How long data waits for the disk: as long as the file system's journal does (ext4(5), `commit`).
const INTERVAL: Duration = Duration::from_secs(5);

/// What the kernel counts of the second disk (Documentation/block/stat.rst).
const COUNTED: &str = "/sys/block/vdb/stat";
/// The number of sectors that were written to it, among these counts.
const SECTORS: usize = 6;

/// The thread that does it, as the agent hears of it.
#[derive(Debug)]
pub(crate) struct Writeback {
    /// For each time that all was written back: when that began, by the kernel's clock since its start, in
    /// milliseconds.
    done: OwnedFd,
}

impl Writeback {
    /// Begins it for the file system of a folder that is open.
    pub(crate) fn begin(files: &OwnedFd) -> io::Result<Self> {
        let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
        let (done, tell) = pipe_with(flags)?;
        // What could not be written is told once to each open file description: the session's end has one of its own.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let files = openat(files, ".", flags, Mode::empty())?;
        std::thread::Builder::new()
            .name("writeback".to_owned())
            .stack_size(64 * 1024)
            .spawn(move || {
                let mut written = sectors();
                loop {
                    std::thread::sleep(INTERVAL);
                    if waiting() == 0 && sectors() == written {
                        continue;
                    }
                    let began = milliseconds();
                    // What could not be written is lost, and is told at the end of the session.
                    if syncfs(&files).is_ok() {
                        // Where the agent has not read the last ones there is no room for another: it hears of
                        // the next.
                        let _ = rustix::io::write(&tell, &began.to_ne_bytes());
                    }
                    written = sectors();
                }
            })?;
        Ok(Self { done })
    }

    /// Readable when all was written back.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.done.as_fd()
    }

    /// How many milliseconds ago the last time began; none where that was heard of already.
    pub(crate) fn ago(&self) -> Option<u64> {
        let mut bytes = [0; 512];
        let read = rustix::io::read(&self.done, &mut bytes).ok()?;
        let last = bytes.get(..read)?.last_chunk()?;
        Some(milliseconds().saturating_sub(u64::from_ne_bytes(*last)))
    }
}

/// Pages of files that wait for a disk. Those of a file system in memory are not among them.
fn waiting() -> u64 {
    let counts = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let of = |name: &str| {
        let lines = counts.lines().filter_map(|line| line.split_once(' '));
        let mut found = lines.filter(|(counted, _)| *counted == name);
        found.next()?.1.parse::<u64>().ok()
    };
    // What cannot be counted may wait.
    of("nr_dirty")
        .zip(of("nr_writeback"))
        .map_or(1, |(a, b)| a + b)
}

/// Sectors of the disk that were written so far; names and permissions are written without pages that wait.
fn sectors() -> Option<u64> {
    let counts = fs::read_to_string(COUNTED).ok()?;
    counts.split_whitespace().nth(SECTORS)?.parse().ok()
}

/// Since the kernel started.
fn milliseconds() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    seconds * 1000 + u64::try_from(now.tv_nsec).unwrap_or_default() / 1_000_000
}
