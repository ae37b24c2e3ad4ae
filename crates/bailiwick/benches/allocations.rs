//! How often memory is asked for between a policy's files and the plan of a sandbox: `cargo bench
//! -p bailiwick --bench allocations`. The numbers are the same on an idle and a busy machine, so
//! that they show a careless copy that no clock would.
//!
//! Decision: a program of its own, because the allocator that counts would slow down what another
//! bench times.

// A bench, like a test, ends where it cannot go on.
#![allow(clippy::expect_used)]

mod support;

use bailiwick_policy::Loaded;
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use support::Place;

/// The system's allocator, and what went through it.
struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

fn note(bytes: usize) {
    CALLS.fetch_add(1, Relaxed);
    BYTES.fetch_add(bytes as u64, Relaxed);
}

// SAFETY: every call goes to the system's allocator with the arguments that came, whose rules the
// caller keeps; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's layout has a size that is not zero.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's layout has a size that is not zero.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Does something and prints what it asked for.
fn counted<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let before = (CALLS.load(Relaxed), BYTES.load(Relaxed));
    let done = black_box(work());
    let (calls, bytes) = (
        CALLS.load(Relaxed) - before.0,
        BYTES.load(Relaxed) - before.1,
    );
    println!("{name:<8} {calls:>8} allocations {bytes:>10} bytes");
    done
}

fn main() {
    let place = Place::new();
    let (request, private) = (place.request(), place.private());
    let load = || bailiwick_policy::load(&request).expect("the template is a policy");
    let plan =
        |loaded: &Loaded| bailiwick_process::rehearse(&loaded.effective, &private).expect("a plan");
    // The first time makes the private folders and fills what is kept.
    plan(&load());
    let loaded = counted("parse", load);
    counted("plan", || plan(&loaded));
}
