//! Memory of the database library, which asks the C library's heap otherwise: musl's gives what is
//! large back to the kernel each time, and has it again, zeroed, for the next row.

use rusqlite::ffi;
use std::alloc::{Layout, alloc, dealloc, realloc};
use std::ffi::{c_int, c_void};
use std::mem::size_of;
use std::ptr::null_mut;

/// Bytes before each block, where its length stands; a multiple of every alignment that is needed.
const HEAD: usize = 16;
/// What the length of a block is a multiple of.
const STEP: c_int = 8;

const _: () = assert!(HEAD >= size_of::<usize>());

/// What a block with its head is; none where that cannot be.
fn layout(length: usize) -> Option<Layout> {
    Layout::from_size_align(length.checked_add(HEAD)?, HEAD).ok()
}

/// The length of a block.
///
/// # Safety
///
/// `block` is one that `get` gave and that was not given back.
unsafe fn length(block: *mut c_void) -> usize {
    // SAFETY: the length stands at the start of the head, aligned (the caller's promise).
    unsafe { block.cast::<u8>().sub(HEAD).cast::<usize>().read() }
}

/// Writes the head of new memory and returns the block behind it.
///
/// # Safety
///
/// `memory` is null, or has room for the head and a block of this length, aligned for the head.
unsafe fn headed(memory: *mut u8, length: usize) -> *mut c_void {
    if memory.is_null() {
        return null_mut();
    }
    // SAFETY: the caller's promise.
    unsafe {
        memory.cast::<usize>().write(length);
        memory.add(HEAD).cast()
    }
}

extern "C" fn get(bytes: c_int) -> *mut c_void {
    let Some((length, layout)) = usize::try_from(bytes)
        .ok()
        .and_then(|length| Some((length, layout(length)?)))
    else {
        return null_mut();
    };
    // SAFETY: the layout has the head, and so is not empty; what is returned has its size.
    unsafe { headed(alloc(layout), length) }
}

/// # Safety
///
/// `block` is null or one that [`get`] or [`change`] gave and that was not given back.
unsafe extern "C" fn give_back(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: the library gives back what it got here, once; the layout is that of then.
    unsafe {
        if let Some(layout) = layout(length(block)) {
            dealloc(block.cast::<u8>().sub(HEAD), layout);
        }
    }
}

/// # Safety
///
/// `block` is one that [`get`] or [`change`] gave and that was not given back.
unsafe extern "C" fn change(block: *mut c_void, bytes: c_int) -> *mut c_void {
    // SAFETY: as for `give_back`; the old block stays where there is no memory for the new one.
    unsafe {
        match (layout(length(block)), usize::try_from(bytes)) {
            (Some(old), Ok(new)) if layout(new).is_some() => {
                headed(realloc(block.cast::<u8>().sub(HEAD), old, new + HEAD), new)
            }
            _ => null_mut(),
        }
    }
}

/// # Safety
///
/// `block` is null or one that [`get`] or [`change`] gave and that was not given back.
unsafe extern "C" fn tell(block: *mut c_void) -> c_int {
    if block.is_null() {
        return 0;
    }
    // SAFETY: the library asks about what it got here.
    c_int::try_from(unsafe { length(block) }).unwrap_or(c_int::MAX)
}

extern "C" fn rounded(bytes: c_int) -> c_int {
    bytes.checked_add(STEP - 1).map_or(bytes, |up| up & -STEP)
}

extern "C" fn begin(_: *mut c_void) -> c_int {
    ffi::SQLITE_OK
}

extern "C" fn end(_: *mut c_void) {}

/// Makes the database library use the heap of this program. To be called once, before there is a
/// second thread; where it is in use already, it keeps its own.
pub(crate) fn give_database() {
    let methods = ffi::sqlite3_mem_methods {
        xMalloc: Some(get),
        xFree: Some(give_back),
        xRealloc: Some(change),
        xSize: Some(tell),
        xRoundup: Some(rounded),
        xInit: Some(begin),
        xShutdown: Some(end),
        pAppData: null_mut(),
    };
    // SAFETY: no other thread uses the library, which copies the functions (its documentation of
    // `sqlite3_config`); they keep what it asks of an allocator.
    unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw const methods) };
}
