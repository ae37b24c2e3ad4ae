//! The allocator of a binary that is linked with a C library whose own is slow (musl): a third of
//! the time that a start takes outside of the kernel. A lock that costs one instruction where
//! there is one thread, as there is in a start; the threads of a session sleep for each other.

use dlmalloc::{Allocator, Dlmalloc};
use lock_api::{Mutex, RawMutex as _};
use std::alloc::{GlobalAlloc, Layout};
use std::ptr::null_mut;
use turns::Turns;

mod database;
mod turns;

pub(crate) use database::give_database;

/// The heap behind the standard library.
struct Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

static HEAP: Mutex<Turns, Dlmalloc<Pages>> =
    Mutex::from_raw(Turns::INIT, Dlmalloc::new_with_allocator(Pages));

/// Where the heap gets its memory: from the kernel, for good.
struct Pages;

/// Bytes up to which memory comes with its pages: most of it is used at once, and a page that comes
/// when it is first touched costs five times as much.
const AT_ONCE: usize = 256 << 10;

// SAFETY: what is returned is memory of the kernel's that nothing else uses, of the size that is
// said, page-aligned and zeroed, and it stays until `free` gives it back.
unsafe impl Allocator for Pages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let populate = match size <= AT_ONCE {
            true => libc::MAP_POPULATE,
            false => 0,
        };
        let flags = libc::MAP_ANONYMOUS | libc::MAP_PRIVATE | populate;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, which replaces none.
        let at = unsafe { libc::mmap(null_mut(), size, access, flags, -1, 0) };
        match at == libc::MAP_FAILED {
            true => (null_mut(), 0, 0),
            false => (at.cast(), size, 0),
        }
    }

    fn remap(&self, at: *mut u8, old: usize, new: usize, can_move: bool) -> *mut u8 {
        let flags = if can_move { libc::MREMAP_MAYMOVE } else { 0 };
        // SAFETY: the mapping is one of this allocator's (the heap's promise).
        let at = unsafe { libc::mremap(at.cast(), old, new, flags) };
        match at == libc::MAP_FAILED {
            true => null_mut(),
            false => at.cast(),
        }
    }

    fn free_part(&self, at: *mut u8, old: usize, new: usize) -> bool {
        // SAFETY: as for `remap`; what is cut off is not used any more.
        unsafe { libc::munmap(at.add(new).cast(), old - new) == 0 }
    }

    fn free(&self, at: *mut u8, size: usize) -> bool {
        // SAFETY: as for `free_part`.
        unsafe { libc::munmap(at.cast(), size) == 0 }
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        4096
    }
}

// SAFETY: the heap is only used under its lock; it returns blocks of the size and alignment that
// it is asked for, or null, and is given back what it has given, as the caller of each function
// promises. Nothing here unwinds or allocates.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise (a size that is not 0) is this function's.
        unsafe { HEAP.lock().malloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from here with this layout (the caller's promise).
        unsafe { HEAP.lock().free(block, layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        unsafe { HEAP.lock().calloc(layout.size(), layout.align()) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for `dealloc`; the new size is not 0 (the caller's promise).
        unsafe {
            HEAP.lock()
                .realloc(block, layout.size(), layout.align(), size)
        }
    }
}

/// Keeps the heap whole in the child of a fork that one of several threads makes: nobody is in the
/// middle of a change then. To be called once, before there is a second thread.
pub(crate) fn survive_forks() {
    extern "C" fn before() {
        std::mem::forget(HEAP.lock());
    }
    extern "C" fn after() {
        // SAFETY: `before` took the lock, in the thread that forks, and did not give it back.
        unsafe { HEAP.force_unlock() }
    }
    // SAFETY: the handlers only take and give back the lock. Where there is no memory for their
    // registration, a fork beside a thread that allocates could hang: there is none that early.
    unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) };
}
