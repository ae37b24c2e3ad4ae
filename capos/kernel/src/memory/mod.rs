//! Memory: frames, the kernel's own heap and page table, the address spaces of programs.

pub(crate) mod frames;
pub(crate) mod heap;
pub(crate) mod kernel;
pub(crate) mod shootdown;
pub(crate) mod space;

/// Where all physical memory of the first 4 GiB appears, for the kernel alone.
pub(crate) const DIRECT: u64 = 0xffff_8000_0000_0000;
/// How much of it there is, in bytes.
pub(crate) const DIRECT_SIZE: u64 = 4 << 30;
/// Bytes of a page and of a frame.
pub(crate) const PAGE: u64 = 4096;

/// Where a physical address appears.
pub(crate) fn direct(address: u64) -> *mut u8 {
    (DIRECT + address) as *mut u8
}
