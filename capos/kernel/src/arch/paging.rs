//! Page table entries (Intel SDM vol. 3, 4.5).

pub(crate) const PRESENT: u64 = 1;
pub(crate) const WRITABLE: u64 = 1 << 1;
pub(crate) const USER: u64 = 1 << 2;
pub(crate) const HUGE: u64 = 1 << 7;
pub(crate) const GLOBAL: u64 = 1 << 8;
pub(crate) const NO_EXECUTE: u64 = 1 << 63;

/// The part of an entry that is a physical address.
pub(crate) const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// Which entry of a table of this level, 0 the lowest, leads to an address.
pub(crate) const fn index(address: u64, level: u32) -> usize {
    (address >> (12 + 9 * level) & 0x1ff) as usize
}
