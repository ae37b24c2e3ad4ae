//! Limits that the kernel keeps by itself, set in the command's own process before it is
//! executed. The address space is never limited: V8, Go and Java reserve far more than they use.

use bailiwick_policy::Limits;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Which limits the kernel keeps for all processes together, in a control group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exact {
    pub(crate) memory: bool,
    pub(crate) processes: bool,
    pub(crate) cpu: bool,
}

/// The limits of a policy as plain numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bounds {
    /// Bytes of memory of all processes together.
    pub(crate) memory: Option<u64>,
    /// Processes and threads at one time.
    pub(crate) processes: Option<u64>,
    /// Thousandths of a CPU.
    pub(crate) cpu: Option<u64>,
    /// Wall-clock time of the run.
    pub(crate) wall: Option<Duration>,
    /// Bytes of one file.
    pub(crate) file_size: Option<u64>,
    /// Open files of one process.
    pub(crate) open_files: Option<u64>,
    /// Bytes by which the folders that may be written may grow.
    pub(crate) disk: Option<u64>,
    /// What needs no other means.
    pub(crate) exact: Exact,
}

impl Bounds {
    /// Processes and threads that a control group must have room for: pid 1 is not the sandboxed
    /// program's, and watches over `disk` in a thread.
    pub(crate) fn tasks(&self) -> Option<u64> {
        let own = 1 + u64::from(self.disk.is_some());
        self.processes.map(|n| n.saturating_add(own))
    }
}

impl From<&Limits> for Bounds {
    fn from(limits: &Limits) -> Self {
        Self {
            memory: limits.memory.as_ref().map(|l| l.value),
            processes: limits.processes.as_ref().map(|l| l.value),
            cpu: limits.cpu.as_ref().map(|l| l.value),
            wall: limits.wall.as_ref().map(|l| l.value),
            file_size: limits.file_size.as_ref().map(|l| l.value),
            open_files: limits.open_files.as_ref().map(|l| l.value),
            disk: limits.disk.as_ref().map(|l| l.value),
            exact: Exact::default(),
        }
    }
}

/// Applies the limits to this process; what it starts inherits them. `isolated` says whether it is
/// in a user namespace, without which the processes of a user are counted.
pub(crate) fn apply(bounds: &Bounds, isolated: bool) -> Result<(), Errno> {
    if isolated && !bounds.exact.processes {
        cap(Resource::Nproc, bounds.tasks())?;
    }
    cap(Resource::Nofile, bounds.open_files)?;
    cap(Resource::Fsize, bounds.file_size)?;
    cap(Resource::Data, bounds.memory)?;
    cap(Resource::Core, Some(0))?;
    Ok(())
}

/// Applies to this process what limits the files that it makes for others.
pub(crate) fn apply_to_broker(bounds: &Bounds) -> Result<(), Errno> {
    cap(Resource::Fsize, bounds.file_size)
}

/// Keeps this process, and all that it starts, on as many CPUs as the limit has, rounded up. Done
/// before the filter, which then keeps it from being undone.
pub(crate) fn pin_to_cpus(bounds: &Bounds) -> Result<(), Errno> {
    match bounds.cpu {
        Some(cpu) => pin(usize::try_from(cpu.div_ceil(1000)).unwrap_or(usize::MAX)),
        None => Ok(()),
    }
}

/// Lowers a limit; one that is lower already stays.
fn cap(resource: Resource, limit: Option<u64>) -> Result<(), Errno> {
    let Some(limit) = limit else { return Ok(()) };
    let hard = getrlimit(resource)
        .maximum
        .map_or(limit, |hard| hard.min(limit));
    setrlimit(
        resource,
        Rlimit {
            current: Some(hard),
            maximum: Some(hard),
        },
    )
}

/// Keeps this process on `count` of the CPUs that it may use.
fn pin(count: usize) -> Result<(), Errno> {
    let may = sched_getaffinity(None)?;
    let mut use_ = CpuSet::new();
    (0..CpuSet::MAX_CPU)
        .filter(|&cpu| may.is_set(cpu))
        .take(count.max(1))
        .for_each(|cpu| use_.set(cpu));
    sched_setaffinity(None, &use_)
}
