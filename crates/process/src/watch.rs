//! Limits that the kernel does not report or does not keep over several processes: pid 1 looks
//! from time to time, cheaply. What happens between two looks is not seen; the overshoot is stated in
//! the documentation and never called exact.

use crate::limits::Bounds;
use crate::unmapped;
use bailiwick_event::LimitKind;
use std::fs;
use std::time::Duration;

/// How often to look at what only the look keeps.
const KEEPING: Duration = Duration::from_millis(20);
/// How often where little is left.
const HURRYING: Duration = Duration::from_millis(5);
/// How often to look at what the kernel keeps and does not report. Each look takes a CPU from a
/// program that may need all.
const REPORTING: Duration = Duration::from_millis(100);

/// What the kernel needs for a file in memory without its content, about.
pub(crate) const INODE: u64 = 1024;

/// The state between two looks.
pub(crate) struct Watch {
    processes: Option<u64>,
    memory: Option<u64>,
    last_pid: u64,
    near: bool,
    /// Whether half of the memory is used.
    short: bool,
    /// Shared memory of the machine at the last search for what nobody has mapped, and what was
    /// found.
    shared: u64,
    unmapped: u64,
}

impl Watch {
    /// A watch for the limits; none where nothing needs one.
    pub(crate) fn new(bounds: &Bounds) -> Option<Self> {
        let watch = Self {
            processes: bounds.processes.filter(|_| !bounds.exact.processes),
            memory: bounds.memory.filter(|_| !bounds.exact.memory),
            last_pid: 0,
            near: false,
            short: false,
            shared: bounds.memory.map_or(0, |_| unmapped::on_the_machine()),
            unmapped: 0,
        };
        (watch.processes.is_some() || watch.memory.is_some()).then_some(watch)
    }

    /// How long to wait for the next look.
    pub(crate) fn interval(&self) -> Duration {
        match (self.memory, self.near) {
            (Some(_), _) if self.short => HURRYING,
            (None, false) => REPORTING,
            _ => KEEPING,
        }
    }

    /// A limit that is reached, with what was seen; each is named once.
    pub(crate) fn look(&mut self) -> Option<(LimitKind, u64)> {
        if let Some(limit) = self.processes
            && self.could_have_reached(limit)
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
        // Scratch folders that are as full as they can be are at the limit and not over it.
        if let Some(limit) = self.memory {
            let most = self.at_most(limit);
            let seen = if most >= limit { exactly(limit) } else { most };
            self.short = seen >= limit / 2;
            if seen >= limit {
                self.memory = None;
                return Some((LimitKind::Memory, seen));
            }
        }
        None
    }

    /// Whether the namespace has given out as many process ids as the limit has processes; before
    /// that there is nothing to count.
    fn could_have_reached(&self, limit: u64) -> bool {
        self.last_pid > 0 || last_pid() >= limit / 2
    }

    /// An upper bound of the sandbox's memory: shared pages counted for each process.
    fn at_most(&mut self, limit: u64) -> u64 {
        let shared = unmapped::on_the_machine();
        if shared > self.shared + limit / 32 {
            self.unmapped = unmapped::all(pids()).values().sum();
            self.shared = shared;
        }
        self.shared = self.shared.min(shared);
        pids().map(resident).sum::<u64>() + scratch() + self.unmapped
    }

    /// Whether a process was started since the last look, by the last process id that the
    /// namespace gave out (proc(5): the fifth field of /proc/loadavg).
    fn busy(&mut self) -> bool {
        let last = last_pid();
        std::mem::replace(&mut self.last_pid, last) != last || self.near
    }
}

/// The last process id that the namespace gave out; 0 where it cannot be read, as in the first
/// instant.
fn last_pid() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let last = text.split_whitespace().nth(4);
    last.and_then(|n| n.parse().ok()).unwrap_or(0)
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

/// Bytes of the scratch folders, which are memory: the files' content and the files themselves.
fn scratch() -> u64 {
    rustix::fs::statvfs("/").map_or(0, |s| {
        (s.f_blocks - s.f_bfree) * s.f_frsize + (s.f_files - s.f_ffree) * INODE
    })
}

/// The sandbox's memory, each shared page counted once over all processes (proportional set
/// size); what is over `enough` is not added up, because meanwhile it grows. A process that hides
/// its own figures counts with all that it has resident.
fn exactly(enough: u64) -> u64 {
    let of = |pid: u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
    };
    let mut sum = scratch();
    for pid in pids() {
        sum += of(pid).unwrap_or_else(|| resident(pid));
        if sum >= enough {
            return sum;
        }
    }
    sum + unmapped::exactly(pids(), &unmapped::all(pids()))
}
