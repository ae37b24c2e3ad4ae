//! One folder of the control-group file system. Its name says which process made it, so that the
//! next run can take away what a supervisor that was killed has left, and nothing else.

use crate::limits::{Bounds, Exact};
use rustix::process::geteuid;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What the names of all begin with.
pub(crate) const PREFIX: &str = "bailiwick-";

/// A group that this process has made; dropping it removes it.
#[derive(Debug)]
pub(crate) struct Group(PathBuf);

impl Group {
    /// Makes one, empty and without limits.
    pub(crate) fn make(parent: &Path) -> Result<Self, String> {
        let own = std::process::id();
        let begun = begun(own).ok_or("/proc does not show this process")?;
        let path = parent.join(format!("{PREFIX}{own}-{begun}"));
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Puts a process into it, with all its threads.
    pub(crate) fn join(&self, pid: i32) -> Result<(), String> {
        fs::write(self.0.join("cgroup.procs"), pid.to_string())
            .map_err(|error| format!("{}: {error}", self.0.display()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Whoever was in it has ended; where that failed, the next run sweeps.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Writes the limits into a group; says which of them it takes, if any.
pub(crate) fn limit(path: &Path, bounds: &Bounds) -> Result<Exact, String> {
    let set = |name: &str, value: &str| write(&path.join(name), value).is_ok();
    let mut exact = Exact::default();
    if let Some(bytes) = bounds.memory {
        // What is swapped out is used all the same. A kernel without swap has no such file.
        set("memory.swap.max", "0");
        exact.memory = set("memory.max", &bytes.to_string()) && set("memory.oom.group", "1");
    }
    if let Some(most) = bounds.tasks() {
        exact.processes = set("pids.max", &most.to_string());
    }
    if let Some(cpu) = bounds.cpu {
        exact.cpu = set("cpu.max", &format!("{} {PERIOD}", quota(cpu)));
    }
    match exact == Exact::default() {
        true => Err("the control group has none of the controllers that are needed".to_owned()),
        false => Ok(exact),
    }
}

/// Microseconds over which CPU time is counted.
const PERIOD: u64 = 100_000;

/// Microseconds of CPU time in a period; the kernel takes no less than a millisecond.
fn quota(thousandths: u64) -> u64 {
    (thousandths.saturating_mul(PERIOD) / 1000).max(1000)
}

/// Writes a file of the kernel's, which is never made by that.
fn write(path: &Path, value: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    io::Write::write_all(&mut file, value.as_bytes())
}

/// Removes the groups of supervisors that are gone. One that a process is still in stays: the
/// kernel refuses to remove it.
pub(crate) fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let own = entry
            .metadata()
            .is_ok_and(|m| m.uid() == geteuid().as_raw());
        if own && name.to_str().is_some_and(is_left_over) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Whether a name is that of a group whose maker is gone.
fn is_left_over(name: &str) -> bool {
    let Some((pid, maker)) = name.strip_prefix(PREFIX).and_then(|n| n.split_once('-')) else {
        return false;
    };
    match (pid.parse(), maker.parse::<u64>()) {
        (Ok(pid), Ok(maker)) => begun(pid) != Some(maker),
        _ => false,
    }
}

/// When a process began, in ticks since the machine started: with its number, what names it for
/// good. None where there is no such process.
fn begun(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may hold anything.
    let after = text.rsplit_once(')')?.1;
    after.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
