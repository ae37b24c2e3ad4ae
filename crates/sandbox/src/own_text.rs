//! The program's own instructions and constants, most of which only a start needs.

use std::ffi::c_int;
use std::ptr::null_mut;

/// Lets go of the pages of this program's file that nothing writes to: what is needed again comes back
/// from the file. A run that lasts has a few of those of its start, and thousands of which it makes no use
/// before its end.
pub(crate) fn let_go() {
    // SAFETY: the callback takes what it is called with, and no data.
    unsafe { libc::dl_iterate_phdr(Some(segments), null_mut()) };
}

/// Called for the program itself, which comes first, and for no library: where it is linked with some,
/// others have their pages as well.
extern "C" fn segments(object: *mut libc::dl_phdr_info, _: usize, _: *mut libc::c_void) -> c_int {
    // SAFETY: dl_iterate_phdr(3) passes an object that lives through this call.
    let object = unsafe { &*object };
    let headers = object.dlpi_phdr;
    if headers.is_null() {
        return 1;
    }
    let count = usize::from(object.dlpi_phnum);
    // SAFETY: it has so many headers, which the loader has mapped and nobody changes.
    let headers = unsafe { std::slice::from_raw_parts(headers, count) };
    let page = rustix::param::page_size();
    for header in headers {
        if header.p_type != libc::PT_LOAD || header.p_flags & libc::PF_W != 0 {
            continue;
        }
        let address = |offset: u64| usize::try_from(object.dlpi_addr.wrapping_add(offset));
        let (Ok(from), Ok(to)) = (
            address(header.p_vaddr),
            address(header.p_vaddr.wrapping_add(header.p_filesz)),
        ) else {
            continue;
        };
        // Whole pages alone: those at the edges may be another segment's too.
        let (from, to) = (from.next_multiple_of(page), to / page * page);
        if from < to {
            // SAFETY: whole pages of a segment that is mapped privately from this program's file, without
            // the right to write: the program has written none of them. A private page that was not
            // written is the file's own in any case, so that nothing changes for whoever reads or executes
            // it now or later. (What a debugger has put there is lost.)
            unsafe {
                libc::madvise(
                    std::ptr::with_exposed_provenance_mut(from),
                    to - from,
                    libc::MADV_DONTNEED,
                )
            };
        }
    }
    // The rest are libraries.
    1
}

#[cfg(test)]
#[path = "own_text_tests.rs"]
mod tests;
