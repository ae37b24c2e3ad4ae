//! How often the processor's own counter counts: a translated guest reads it as its own, and has no other
//! timer to compare it with.

use crate::accelerator::{of_processor, processor};
use crate::image;
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long it is counted: some parts in a million come of it.
const COUNTED: Duration = Duration::from_millis(50);

/// Its rate in kHz, the same each time; none where it cannot be known.
pub(crate) fn kilohertz() -> Option<u64> {
    // With this the kernel knows how fast the processor goes right now, and says that instead.
    match of_processor("flags")?
        .split(' ')
        .any(|flag| flag == "aperfmperf")
    {
        false => said(&of_processor("cpu MHz")?),
        true => remembered(&place()?),
    }
}

/// What the kernel says of a processor, in kHz.
fn said(line: &str) -> Option<u64> {
    let value: f64 = line.split(':').nth(1)?.trim().parse().ok()?;
    // Far below 2^53.
    Some((value * 1000.0) as u64)
}

/// Where it is remembered: counted anew it would be a little different, and every template useless.
fn place() -> Option<PathBuf> {
    let name = blake3::hash(&processor()).to_hex();
    let folder = image::cache_folder().ok()?.join("accelerator");
    Some(folder.join(format!("counter-{}", &name[..16])))
}

fn remembered(place: &Path) -> Option<u64> {
    let before = fs::read_to_string(place).ok();
    let before = before.and_then(|text| text.trim_end().parse().ok());
    before.or_else(|| {
        let counted = count()?;
        let _ = fs::create_dir_all(place.parent()?);
        let _ = fs::write(place, format!("{counted}\n"));
        Some(counted)
    })
}

/// Counts for a moment.
fn count() -> Option<u64> {
    let (from, began) = now()?;
    std::thread::sleep(COUNTED);
    let (to, ended) = now()?;
    let ticks = u128::from(to.checked_sub(from)?);
    u64::try_from(ticks * 1_000_000 / u128::from(ended - began)).ok()
}

/// The counter, and the nanoseconds of the host's clock that nobody sets or slews: of several looks the
/// one that took the least time.
fn now() -> Option<(u64, u64)> {
    let look = || {
        let before = counter();
        let time = clock_gettime(ClockId::MonotonicRaw);
        let after = counter();
        let seconds = u64::try_from(time.tv_sec).ok()?;
        let time = seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?;
        let took = after.checked_sub(before)?;
        Some((took, before + took / 2, time))
    };
    let least = (0..16).filter_map(|_| look()).min()?;
    Some((least.1, least.2))
}

fn counter() -> u64 {
    // SAFETY: the instruction reads a counter and nothing else, and every processor that this is compiled
    // for has it (Intel 64 and AMD64 both, from their first).
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(test)]
#[path = "counter_tests.rs"]
mod tests;
