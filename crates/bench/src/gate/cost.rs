//! What a process costs, as the kernel accounts for it and not as the process says. The clock of a
//! process counts nanoseconds of all its threads, also of those that have ended; `/proc/PID/stat` has
//! the same in hundredths of a second, too coarse for what is measured here.

use std::io;

/// The CPU time of a process so far, in nanoseconds.
pub(crate) fn cpu(process: u32) -> io::Result<u64> {
    let mut clock = 0;
    // SAFETY: the pointer is to a live local of the right type.
    let found = unsafe { libc::clock_getcpuclockid(process.cast_signed(), &raw mut clock) };
    if found != 0 {
        return Err(io::Error::from_raw_os_error(found));
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live local of the right type.
    match unsafe { libc::clock_gettime(clock, &raw mut time) } {
        0 => Ok(u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).unwrap_or(0)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The resident memory of a process in MiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Memory {
    /// Now.
    pub now: f64,
    /// At its highest.
    pub peak: f64,
}

/// `VmRSS` and `VmHWM`.
pub(crate) fn memory(process: u32) -> io::Result<Memory> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    parse(&status).ok_or_else(|| io::Error::other("the kernel does not say"))
}

fn parse(status: &str) -> Option<Memory> {
    let of = |name: &str| -> Option<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: f64 = line.split_ascii_whitespace().next()?.parse().ok()?;
        Some(kib / 1024.0)
    };
    Some(Memory {
        now: of("VmRSS:")?,
        peak: of("VmHWM:")?,
    })
}

#[cfg(test)]
#[path = "cost_tests.rs"]
mod tests;
