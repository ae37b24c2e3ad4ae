//! The time since the start, by the time-stamp counter: one for all processors under QEMU. Its rate is
//! told by the host on the command line (`tsc_khz=`), since a translated machine has nothing to compare it
//! with; without it a rate that is at most wrong by the clock's ratio is taken and said.

use crate::arch;
use core::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds of a tick of `Timer.now`.
pub(crate) const TICK: u64 = 10_000_000;

static START: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds per 2^32 ticks of the counter.
static SCALE: AtomicU64 = AtomicU64::new(1 << 32);

/// Begins to count; the rate in kHz.
pub(crate) fn begin(rate: u64) {
    START.store(arch::ticks(), Ordering::Relaxed);
    SCALE.store((1_000_000 << 32) / rate.max(1), Ordering::Relaxed);
}

/// Nanoseconds since the start.
pub(crate) fn now() -> u64 {
    let passed = arch::ticks().wrapping_sub(START.load(Ordering::Relaxed));
    let scaled = (u128::from(passed) * u128::from(SCALE.load(Ordering::Relaxed))) >> 32;
    scaled as u64
}
