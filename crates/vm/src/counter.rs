//! How often the processor's own counter counts: a translated guest reads it as its own, and has no other
//! timer to compare it with.

use crate::accelerator::of_processor;
use crate::image;
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long it is counted: a millionth or two is what is missed then.
const COUNTED: Duration = Duration::from_millis(50);
/// Rates that processors have, in kHz.
const RATES: RangeInclusive<u64> = 100_000..=20_000_000;
/// How the files are called in which it is remembered.
const FILE: &str = "counter-";

/// The rate of the processor's counter in kHz, counted once since the host has started; none where it cannot be known.
#[must_use]
pub fn kilohertz() -> Option<u64> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let folder = image::cache_folder().ok()?.join("accelerator");
    remembered(&folder, boot.trim_end(), said)
}

/// What the kernel says of a processor's speed, in kHz: often the same, or how fast it goes right now.
fn said() -> Option<u64> {
    read_from(&of_processor("cpu MHz")?)
}

fn read_from(line: &str) -> Option<u64> {
    let value: f64 = line.split(':').nth(1)?.trim().parse().ok()?;
    // Far below 2^53.
    Some((value * 1000.0) as u64)
}

/// The rate, counted once since the machine has started. What the kernel says, or what was found before, is
/// taken where it is the same but for what counting misses: with another rate every template is useless.
fn remembered(folder: &Path, boot: &str, said: impl FnOnce() -> Option<u64>) -> Option<u64> {
    let place = folder.join(format!("{FILE}{boot}"));
    if let Some(known) = known(&place) {
        return Some(known);
    }
    let counted = count()?;
    let before: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            name.starts_with(FILE.as_bytes()) && *path != place
        })
        .collect();
    let found = before.iter().filter_map(|path| known(path));
    let is_same = |rate: &u64| rate.abs_diff(counted) <= counted / 10_000;
    let rate = said().into_iter().chain(found).find(is_same);
    let rate = rate.unwrap_or(counted);
    // Whoever is first has said it for all.
    let own = folder.join(format!("{FILE}{}", std::process::id()));
    let _ = fs::create_dir_all(folder);
    let _ = fs::write(&own, format!("{rate}\n")).and_then(|()| fs::hard_link(&own, &place));
    for old in before.iter().chain([&own]) {
        let _ = fs::remove_file(old);
    }
    known(&place).or(Some(rate))
}

/// What a file says, where that is a rate.
fn known(place: &Path) -> Option<u64> {
    let rate = fs::read_to_string(place).ok()?.trim_end().parse().ok()?;
    RATES.contains(&rate).then_some(rate)
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
