//! Limits that the kernel keeps by itself, set in the command's own process before it is
//! executed. The address space is never limited: V8, Go and Java reserve far more than they use.

use bailiwick_policy::Limits;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Applies the limits to this process; what it starts inherits them.
pub(crate) fn apply(limits: &Limits) -> Result<(), Errno> {
    let value = |limit: &Option<bailiwick_policy::Sourced<u64>>| limit.as_ref().map(|l| l.value);
    // Pid 1, which is not the sandboxed program's, counts as well.
    cap(
        Resource::Nproc,
        value(&limits.processes).map(|n| n.saturating_add(1)),
    )?;
    cap(Resource::Nofile, value(&limits.open_files))?;
    cap(Resource::Fsize, value(&limits.file_size))?;
    cap(Resource::Data, value(&limits.memory))?;
    cap(Resource::Core, Some(0))?;
    Ok(())
}

/// Keeps this process, and all that it starts, on as many CPUs as the limit has, rounded up. Done
/// before the filter, which then keeps it from being undone.
pub(crate) fn pin_to_cpus(limits: &Limits) -> Result<(), Errno> {
    match &limits.cpu {
        Some(cpu) => pin(usize::try_from(cpu.value.div_ceil(1000)).unwrap_or(usize::MAX)),
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
