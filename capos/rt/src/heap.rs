//! A program's own memory: a fixed part of its image.

use crate::lock::Lock;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{self, NonNull};
use talc::{ErrOnOom, Span, Talc};

const SIZE: usize = 1 << 20;

#[repr(align(4096))]
struct Arena {
    _bytes: [u8; SIZE],
}

static mut ARENA: Arena = Arena { _bytes: [0; SIZE] };

struct Heap(Lock<Talc<ErrOnOom>>);

#[global_allocator]
static HEAP: Heap = Heap(Lock::new(Talc::new(ErrOnOom)));

pub(crate) fn init() {
    let arena = &raw mut ARENA;
    // SAFETY: nothing else refers to the arena, and the entry calls this once.
    let _ = unsafe {
        HEAP.0
            .lock()
            .claim(Span::from_base_size(arena.cast(), SIZE))
    };
}

// SAFETY: Talc gives each block out once, under the lock.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise: the size is not zero.
        let given = unsafe { self.0.lock().malloc(layout) };
        given.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(block) = NonNull::new(block) {
            // SAFETY: the caller's promise: it was given out here, with this layout.
            unsafe { self.0.lock().free(block, layout) }
        }
    }
}
