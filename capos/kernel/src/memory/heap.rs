//! The kernel's own memory: a fixed part of its image. Decision: it never grows, so that no program's acts
//! take frames from others by way of the kernel. What is counted in bytes (quotas), and what processors copy
//! at one time, has room in any case; before all else that programs can have it hold takes that room, calls
//! are refused.

use crate::sync::SpinLock;
use bailiwick_capos_core::layout;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicUsize, Ordering};
use talc::{ErrOnOom, Span, Talc};

/// Bytes.
const SIZE: usize = 12 << 20;
/// What stays free for what is under way when calls are refused: a message that is delivered or returned, what
/// a call allocates beside its parameters, blocks that do not fit anywhere.
const UNDER_WAY: usize = 2 << 20;
/// So many bytes in use are too many for more calls.
const MOST: usize = SIZE - layout::KEPT - layout::COPIED - UNDER_WAY;
/// What a process has the kernel keep in use, beside what is counted in bytes: its ring and tables, threads,
/// and some hundred capabilities. All of them have that.
const EACH: usize = 96 << 10;
const _: () = assert!(layout::PROCESSES * EACH < MOST);

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

/// Whether there is so little left that nothing more is to be kept.
pub(crate) fn is_low() -> bool {
    used() > MOST
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
