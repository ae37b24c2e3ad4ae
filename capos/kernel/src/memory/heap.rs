//! The kernel's own memory: a fixed part of its image. Decision: it never grows, so that no program's acts
//! take frames from others by way of the kernel; what programs can have it hold is counted (quotas), and
//! the heap has room for all of that.

use crate::sync::SpinLock;
use bailiwick_capos_core::layout;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicUsize, Ordering};
use talc::{ErrOnOom, Span, Talc};

/// Bytes.
const SIZE: usize = 8 << 20;
/// What a process can have the kernel keep at most beside what is counted in bytes, rounded up: its ring and
/// tables, capabilities, objects of one frame, threads, ranges of addresses.
const EACH: usize = 96 << 10;
const _: () = assert!(layout::PROCESSES * EACH + layout::KEPT < SIZE);

#[repr(align(4096))]
struct Arena {
    _bytes: [u8; SIZE],
}

struct Heap {
    talc: SpinLock<Talc<ErrOnOom>>,
    used: AtomicUsize,
}

#[global_allocator]
static HEAP: Heap = Heap {
    talc: SpinLock::new(Talc::new(ErrOnOom)),
    used: AtomicUsize::new(0),
};

static mut ARENA: Arena = Arena { _bytes: [0; SIZE] };

/// Gives the heap its memory; once, before anything is allocated.
pub(crate) fn init() {
    let arena = &raw mut ARENA;
    // SAFETY: nothing else refers to the arena, and this is called once.
    let claimed = unsafe {
        HEAP.talc
            .lock()
            .claim(Span::from_base_size(arena.cast(), SIZE))
    };
    assert!(claimed.is_ok(), "there is no heap");
}

/// Bytes in use.
pub(crate) fn used() -> usize {
    HEAP.used.load(Ordering::Relaxed)
}

// SAFETY: Talc gives each block out once, under the lock.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise: the size is not zero.
        let given = unsafe { self.talc.lock().malloc(layout) };
        given.map_or(ptr::null_mut(), |block| {
            self.used.fetch_add(layout.size(), Ordering::Relaxed);
            block.as_ptr()
        })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(block) = NonNull::new(block) {
            self.used.fetch_sub(layout.size(), Ordering::Relaxed);
            // SAFETY: the caller's promise: it was given out here, with this layout.
            unsafe { self.talc.lock().free(block, layout) }
        }
    }
}
