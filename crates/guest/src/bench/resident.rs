//! What of a file is in the cache of the kernel that this runs on.
//!
//! The host compiles the same file (crates/bench/src/machine/mod.rs).

use super::known::PAGE;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

/// How many pages of a file are in the cache.
pub(super) fn resident(file: &File) -> io::Result<u64> {
    let length = usize::try_from(file.metadata()?.len()).unwrap_or_default();
    if length == 0 {
        return Ok(0);
    }
    // SAFETY: a new mapping at a place of the kernel's choice, of a file that is open.
    let mapped = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let mut each = vec![0_u8; length.div_ceil(PAGE)];
    // SAFETY: the mapping is as long as is said, and there is a byte for each of its pages.
    let said = unsafe { libc::mincore(mapped, length, each.as_mut_ptr()) };
    let error = io::Error::last_os_error();
    // SAFETY: the mapping of above, to which nothing refers any more.
    unsafe { libc::munmap(mapped, length) };
    match said {
        0 => Ok(each.iter().filter(|page| **page & 1 == 1).count() as u64),
        _ => Err(error),
    }
}
