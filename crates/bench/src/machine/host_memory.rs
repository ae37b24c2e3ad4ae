//! What a machine has of the host's memory beyond its own, by the kernel's account of its processes'
//! mappings (proc_pid_smaps(5)). Counted in shares (Pss): a page that two processes have is half of each.

use std::collections::BTreeSet;
use std::fs;
use std::io;

/// Of one run: the supervisor, pid 1 of its sandbox, QEMU, and the program that answers for files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct HostMemory {
    /// The machine's own memory, as far as it is used; in KiB, as all of them.
    pub guest: u64,
    /// QEMU's translated instructions.
    pub translations: u64,
    /// Everything else of QEMU's.
    pub monitor: u64,
    /// The other processes.
    pub others: u64,
}

/// Everything that a process has started and that is still there, itself first.
pub(super) fn family(process: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::from([process]);
    let mut next = vec![process];
    while let Some(process) = next.pop() {
        let tasks = fs::read_dir(format!("/proc/{process}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children = children.split_ascii_whitespace();
            let new = children.filter_map(|child| child.parse().ok());
            next.extend(
                new.filter(|child| found.insert(*child))
                    .collect::<Vec<u32>>(),
            );
        }
    }
    found
}

impl HostMemory {
    /// Of a run and everything below it. `memory` is the machine's, in bytes: no other mapping is that
    /// long.
    ///
    /// # Errors
    /// The kernel does not say.
    pub(super) fn of(process: u32, memory: u64) -> io::Result<Self> {
        let mut all = Self::default();
        for process in family(process) {
            let name = fs::read_to_string(format!("/proc/{process}/comm"))?;
            let maps = fs::read_to_string(format!("/proc/{process}/smaps"))?;
            all.add(&maps, name.starts_with("qemu-system"), memory);
        }
        Ok(all)
    }

    fn add(&mut self, maps: &str, is_monitor: bool, memory: u64) {
        let mut place = &mut self.others;
        for line in maps.lines() {
            if let Some((length, rights)) = heading(line) {
                place = match is_monitor {
                    false => &mut self.others,
                    true if length == memory => &mut self.guest,
                    // Nothing else in QEMU can be written and executed.
                    true if rights.starts_with("rwx") => &mut self.translations,
                    true => &mut self.monitor,
                };
            } else if let Some(share) = line.strip_prefix("Pss:") {
                let share = share.trim().trim_end_matches(" kB");
                *place += share.parse::<u64>().unwrap_or_default();
            }
        }
    }

    /// All but the guest's own, in MiB.
    pub(super) fn beyond(&self) -> f64 {
        (self.translations + self.monitor + self.others) as f64 / 1024.0
    }
}

/// Length and rights, where the line begins a mapping: `from-to rights offset device inode path`.
fn heading(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split(' ');
    let (from, to) = words.next()?.split_once('-')?;
    let rights = words.next()?;
    let parse = |text| u64::from_str_radix(text, 16).ok();
    Some((parse(to)?.checked_sub(parse(from)?)?, rights))
}

#[cfg(test)]
#[path = "host_memory_tests.rs"]
mod tests;
