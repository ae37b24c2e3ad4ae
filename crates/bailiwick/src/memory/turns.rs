//! The lock of the heap.

use lock_api::{GuardNoSend, RawMutex};
use rustix::thread::futex;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};

/// A lock whose threads sleep in the kernel while they wait: one that yields instead comes again
/// only when all others have had their slice of time, some milliseconds. None of the standard
/// library or of other crates can be given back by the child of a fork, or allocates nothing.
pub(super) struct Turns(AtomicU32);

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const AWAITED: u32 = 2;
/// How often a thread looks before it sleeps; a block is mostly had within this time.
const LOOKS: u32 = 100;

// SAFETY: a thread has the lock when it has changed the word from FREE, which one thread at a time
// can, and has it until it writes FREE.
unsafe impl RawMutex for Turns {
    const INIT: Self = Self(AtomicU32::new(FREE));
    type GuardMarker = GuardNoSend;

    fn lock(&self) {
        if !self.try_lock() {
            self.wait();
        }
    }

    fn try_lock(&self) -> bool {
        let taken = self
            .0
            .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    unsafe fn unlock(&self) {
        if self.0.swap(FREE, Ordering::Release) == AWAITED {
            let _ = futex::wake(&self.0, futex::Flags::PRIVATE, 1);
        }
    }
}

impl Turns {
    #[cold]
    fn wait(&self) {
        for _ in 0..LOOKS {
            if self.0.load(Ordering::Relaxed) == FREE && self.try_lock() {
                return;
            }
            spin_loop();
        }
        while self.0.swap(AWAITED, Ordering::Acquire) != FREE {
            let _ = futex::wait(&self.0, futex::Flags::PRIVATE, AWAITED, None);
        }
    }
}
