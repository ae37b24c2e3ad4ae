//! One CPU for all that takes part in a row. What hands a request on from one CPU to another that
//! sleeps waits until that one is awake: on a virtual machine longer than the work takes, at the
//! scheduler's choice, and nothing that a gate could do about it.

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};
use std::io;

/// Keeps this process, and what it starts, on one CPU until it is dropped.
pub(super) struct OneCpu {
    before: CpuSet,
}

impl OneCpu {
    /// The last of the CPUs that may be used: the kernel's own work is mostly done by the first.
    pub(super) fn take() -> io::Result<Self> {
        let before = sched_getaffinity(None)?;
        let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| before.is_set(cpu));
        let mut one = CpuSet::new();
        one.set(last.unwrap_or(0));
        let taken = Self { before };
        all_threads(&one)?;
        Ok(taken)
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        let _ = all_threads(&self.before);
    }
}

fn all_threads(set: &CpuSet) -> io::Result<()> {
    for thread in std::fs::read_dir("/proc/self/task")? {
        let name = thread?.file_name();
        let thread = name.to_str().and_then(|name| name.parse().ok());
        if let Some(thread) = thread.and_then(Pid::from_raw) {
            match sched_setaffinity(Some(thread), set) {
                // It has ended meanwhile.
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "one_cpu_tests.rs"]
mod tests;
