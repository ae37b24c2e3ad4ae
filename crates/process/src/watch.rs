//! Limits that the kernel does not report or does not keep over several processes: pid 1 looks
//! every 20 ms, cheaply. What happens between two looks is not seen; the overshoot is stated in
//! the documentation and never called exact.

use bailiwick_event::LimitKind;
use bailiwick_policy::Limits;
use std::fs;
use std::time::Duration;

/// How often to look.
pub(crate) const INTERVAL: Duration = Duration::from_millis(20);

/// The state between two looks.
pub(crate) struct Watch {
    processes: Option<u64>,
    memory: Option<u64>,
    last_pid: u64,
    near: bool,
}

impl Watch {
    /// A watch for the limits; none where nothing needs one.
    pub(crate) fn new(limits: &Limits) -> Option<Self> {
        let watch = Self {
            processes: limits.processes.as_ref().map(|l| l.value),
            memory: limits.memory.as_ref().map(|l| l.value),
            last_pid: 0,
            near: false,
        };
        (watch.processes.is_some() || watch.memory.is_some()).then_some(watch)
    }

    /// A limit that is reached, with what was seen; each is named once.
    pub(crate) fn look(&mut self) -> Option<(LimitKind, u64)> {
        if let Some(limit) = self.processes
            && let Some(seen) = self.busy().then(count_tasks)
        {
            self.near = seen >= limit / 2;
            // A program that forks in a loop is rarely seen at the very limit, because what
            // failed there ends at once.
            if seen >= limit - limit / 32 {
                self.processes = None;
                return Some((LimitKind::Processes, seen));
            }
        }
        if let Some(limit) = self.memory
            && at_most() > limit
        {
            let seen = exactly();
            if seen > limit {
                self.memory = None;
                return Some((LimitKind::Memory, seen));
            }
        }
        None
    }

    /// Whether a process was started since the last look, by the last process id that the
    /// namespace gave out (the fifth field of /proc/loadavg).
    fn busy(&mut self) -> bool {
        let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let last = text
            .split_whitespace()
            .nth(4)
            .and_then(|n| n.parse().ok())
            .unwrap_or(0);
        std::mem::replace(&mut self.last_pid, last) != last || self.near
    }
}

/// The process ids of the sandbox, without pid 1.
fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&pid| pid != 1)
}

/// Processes and threads of the sandbox.
fn count_tasks() -> u64 {
    pids()
        .map(|pid| rustix::fs::stat(format!("/proc/{pid}/task")).map_or(0, |s| s.st_nlink - 2))
        .sum()
}

/// Bytes that a process has in memory, pages of files and shared ones included.
fn resident(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// Bytes of the scratch folders, which are memory.
fn scratch() -> u64 {
    rustix::fs::statvfs("/").map_or(0, |s| (s.f_blocks - s.f_bfree) * s.f_frsize)
}

/// An upper bound of the sandbox's memory: shared pages counted for each process.
fn at_most() -> u64 {
    pids().map(resident).sum::<u64>() + scratch()
}

/// The sandbox's memory, each shared page counted once over all processes (proportional set
/// size). A process that hides its own figures counts with all that it has resident.
fn exactly() -> u64 {
    let of = |pid: u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
    };
    pids()
        .map(|pid| of(pid).unwrap_or_else(|| resident(pid)))
        .sum::<u64>()
        + scratch()
}
