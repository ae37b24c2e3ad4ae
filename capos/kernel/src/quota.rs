//! How much a process may have at one time. Decision: what it may not have is refused when it is asked
//! for, with nothing done, so that a greedy program harms nobody but itself.

use crate::cpu;
use crate::process::Process;
use alloc::sync::{Arc, Weak};
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
    calls: Left,
    /// Bytes of them.
    scratch: Left,
    /// Bytes of the buffers of its pipes.
    pipes: Left,
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
            pipes: Left::of(layout::PIPES),
        }
    }
}

/// Bytes that are left for all processes together: the kernel's own memory is for all of them.
static KEPT: Left = Left::of(layout::KEPT);

/// Bytes of what processors copy at this moment.
static COPIED: Left = Left::of(layout::COPIED);

/// What a system call copies for as long as it takes, until this is dropped.
pub(crate) struct Copied(usize);

impl Copied {
    /// So many bytes, at most [`layout::SCRATCH`], as often as a message is copied on its way. Where others
    /// copy as much as there is room for this waits, as for a lock: who copies does not wait for another.
    pub(crate) fn take(bytes: usize) -> Self {
        let bytes = 2 * bytes;
        while !COPIED.take(bytes) {
            cpu::look_into_mailbox();
            core::hint::spin_loop();
        }
        Self(bytes)
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        COPIED.give(self.0);
    }
}

/// Bytes that the kernel keeps for a process, until this is dropped.
pub(crate) struct Kept {
    of: Weak<Process>,
    bytes: usize,
    kind: fn(&Quota) -> &Left,
}

impl Kept {
    fn take(of: &Arc<Process>, bytes: usize, kind: fn(&Quota) -> &Left) -> Option<Self> {
        if !KEPT.take(bytes) {
            return None;
        }
        if !kind(&of.quota).take(bytes) {
            KEPT.give(bytes);
            return None;
        }
        Some(Self {
            of: Arc::downgrade(of),
            bytes,
            kind,
        })
    }

    /// For the buffer of a pipe that it has made.
    pub(crate) fn for_pipe(of: &Arc<Process>, bytes: usize) -> Option<Self> {
        Self::take(of, bytes, |quota| &quota.pipes)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        KEPT.give(self.bytes);
        if let Some(of) = self.of.upgrade() {
            (self.kind)(&of.quota).give(self.bytes);
        }
    }
}

/// What a call that is not answered costs its caller, until this is dropped. Not under a lock: the caller
/// may end by it.
pub(crate) struct Charge {
    kept: Kept,
}

impl Charge {
    /// Takes a call, and so many bytes that are kept for it.
    pub(crate) fn take(of: &Arc<Process>, bytes: usize) -> Option<Self> {
        if !of.quota.calls.take(1) {
            return None;
        }
        let kept = Kept::take(of, bytes, |quota| &quota.scratch);
        if kept.is_none() {
            of.quota.calls.give(1);
        }
        kept.map(|kept| Self { kept })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(of) = self.kept.of.upgrade() {
            of.quota.calls.give(1);
        }
    }
}
