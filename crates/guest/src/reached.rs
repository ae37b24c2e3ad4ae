//! Limits that the commands have reached. The kernel says when: nothing is looked at until it does.

use rustix::event::epoll;
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, SeekFrom, seek};
use rustix::io::{Errno, read};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Lines of the kernel's log that are taken in one turn.
const LINES: usize = 64;

/// The kernel's log, of which a process that was ended for want of memory has a line. What it says is not
/// read: the kernel counts them.
#[derive(Debug)]
pub(crate) struct Log(OwnedFd);

impl Log {
    /// Opens it, behind what was said so far.
    pub(crate) fn open() -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let log = rustix::fs::open(c"/dev/kmsg", flags, Mode::empty())?;
        seek(&log, SeekFrom::End(0))?;
        Ok(Self(log))
    }

    /// Readable when something was said.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Takes what was said.
    pub(crate) fn take(&self) {
        let mut line = [0; 1024];
        for _ in 0..LINES {
            match read(&self.0, &mut line) {
                // Older lines are gone, or this one is longer.
                Ok(_) | Err(Errno::PIPE | Errno::INVAL | Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

/// How many processes the kernel has ended because memory ran out.
pub(crate) fn starved() -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    number(&text, "oom_kill")
}

/// A control group's own count of the processes that it did not let begin.
#[derive(Debug)]
pub(crate) struct Processes {
    events: File,
    watch: OwnedFd,
}

impl Processes {
    /// Watches this file of a group (`pids.events`).
    pub(crate) fn watch(events: File) -> io::Result<Self> {
        let watch = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&watch, &events, data, epoll::EventFlags::PRI)?;
        let processes = Self { events, watch };
        // A file that nobody has read yet is ready, whatever is in it.
        processes.are_too_many();
        Ok(processes)
    }

    /// Readable when the count has changed.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }

    /// Whether there was one.
    pub(crate) fn are_too_many(&self) -> bool {
        let mut bytes = [0; 256];
        let length = self.events.read_at(&mut bytes, 0).unwrap_or_default();
        let text = bytes.get(..length).unwrap_or_default();
        number(&String::from_utf8_lossy(text), "max") > 0
    }
}

/// The number of a line; 0 where there is no such line.
fn number(text: &str, line: &str) -> u64 {
    text.lines()
        .filter_map(|found| found.split_once(' '))
        .find(|(name, _)| *name == line)
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
#[path = "reached_tests.rs"]
mod tests;
