//! How much a process may have at one time. Decision: what it may not have is refused when it is asked
//! for, with nothing done, so that a greedy program harms nobody but itself.

use bailiwick_capos_core::layout;
use core::sync::atomic::{AtomicUsize, Ordering};

/// One kind of thing, and how much of it is left.
pub(crate) struct Left(AtomicUsize);

impl Left {
    const fn of(most: usize) -> Self {
        Self(AtomicUsize::new(most))
    }

    /// Takes so much, if there is so much.
    #[must_use]
    pub(crate) fn take(&self, count: usize) -> bool {
        let less = |left: usize| left.checked_sub(count);
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less)
            .is_ok()
    }

    /// Gives so much back.
    pub(crate) fn give(&self, count: usize) {
        self.0.fetch_add(count, Ordering::AcqRel);
    }
}

/// All kinds.
pub(crate) struct Quota {
    /// Frames that it was granted.
    pub(crate) frames: Left,
    /// Pages of addresses that it reserved.
    pub(crate) reserved: Left,
    /// Sleeps under way.
    pub(crate) sleepers: Left,
    /// Threads.
    pub(crate) threads: Left,
    /// Calls of its that other programs have not answered.
    pub(crate) calls: Left,
    /// Bytes of them.
    pub(crate) scratch: Left,
}

impl Quota {
    /// What every process may have.
    pub(crate) const fn new() -> Self {
        Self {
            frames: Left::of(layout::FRAMES),
            reserved: Left::of(layout::RESERVED_PAGES),
            sleepers: Left::of(layout::SLEEPERS),
            threads: Left::of(layout::THREADS),
            calls: Left::of(layout::CALLS),
            scratch: Left::of(layout::SCRATCH),
        }
    }
}
