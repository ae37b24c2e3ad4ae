//! Locks. The kernel runs with interrupts off, so that whoever waits for a lock would not hear another
//! processor that waits for it: each turn of a wait looks into the processor's mailbox (cpu.rs).
//!
//! Decision: nothing is waited for with a lock held but another lock, in the order that
//! docs/capos.md gives; answers of other processors never are.

use crate::cpu;
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, Ordering};

/// A lock that is waited for in a loop.
pub(crate) struct SpinLock<T> {
    is_held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one holder at a time, so that it may go from one to another.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self {
            is_held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for it.
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        cpu::count(|counters| &counters.locks);
        while self.is_held.swap(true, Ordering::Acquire) {
            while self.is_held.load(Ordering::Relaxed) {
                cpu::look_into_mailbox();
                core::hint::spin_loop();
            }
        }
        Guard { lock: self }
    }
}

/// The lock is held as long as this lives.
pub(crate) struct Guard<'a, T> {
    lock: &'a SpinLock<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: whoever has a guard is the only holder.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: see `deref`; the guard is borrowed for it alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.lock.is_held.store(false, Ordering::Release);
    }
}
