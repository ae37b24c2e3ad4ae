//! How the machine ends: when no process is left, with init's code; and not before everything that programs
//! had was given back, which is counted.

use crate::arch::{self, serial};
use crate::memory::{frames, heap};
use crate::process::{self, Exit};
use crate::sync::SpinLock;
use crate::{cpu, say};
use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

/// What QEMU's exit status is made of (`2 * n + 1`): init has ended well (33), init has ended with another
/// code (35), something was not given back (37), the machine cannot run (39), the kernel is broken (255).
const WELL: u8 = 0x10;
const FAILED: u8 = 0x11;
const LEAKED: u8 = 0x12;
const UNFIT: u8 = 0x13;
pub(crate) const PANIC: u8 = 0x7f;

/// Bytes of the kernel's own memory that may be in use more than before the first process: queues that have
/// grown keep their room.
const HEAP_LEFT: usize = 16 << 10;

static FRAMES: AtomicUsize = AtomicUsize::new(0);
static HEAP: AtomicUsize = AtomicUsize::new(0);
static INIT: SpinLock<Option<Arc<Exit>>> = SpinLock::new(None);

/// Remembers what there is before the first process.
pub(crate) fn begin() {
    FRAMES.store(frames::available(), Ordering::Relaxed);
    HEAP.store(heap::used(), Ordering::Relaxed);
}

/// Whose code is the machine's.
pub(crate) fn is_init(exit: Arc<Exit>) {
    *INIT.lock() = Some(exit);
}

/// The machine cannot run.
pub(crate) fn fail(why: fmt::Arguments<'_>) -> ! {
    serial::line(why);
    arch::exit(UNFIT)
}

/// Ends the machine if no process is left.
pub(crate) fn end_if_done() {
    if process::COUNT.load(Ordering::Acquire) > 0 {
        return;
    }
    let Some(exit) = INIT.lock().take() else {
        return;
    };
    let code = exit.code.lock().unwrap_or(process::TERMINATED);
    drop(exit);
    let (before, after) = (FRAMES.load(Ordering::Relaxed), frames::available());
    let (heap_before, heap_after) = (HEAP.load(Ordering::Relaxed), heap::used());
    let locks: u64 = cpu::all()
        .map(|cpu| cpu.counters.locks.load(Ordering::Relaxed))
        .sum();
    say!(
        "capos: init exit={code} frames={after}/{before} heap={heap_after}/{heap_before} locks={locks}"
    );
    arch::exit(match code {
        _ if after != before || heap_after > heap_before + HEAP_LEFT => LEAKED,
        0 => WELL,
        _ => FAILED,
    })
}
