//! Memory as the smokes use it: what they map, and how they look at it. Every look is volatile, for what is
//! tested is what the processor does.

use crate::cap;
use bailiwick_capos_rt::call::{Cap, Failed};
use bailiwick_capos_rt::held;
use core::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Rights.
pub const NONE: u64 = 0;
/// See [`NONE`].
pub const READ: u64 = 1;
/// See [`NONE`].
pub const WRITE: u64 = 3;
/// See [`NONE`].
pub const RUN: u64 = 5;

/// Methods of VirtualMemory.
pub const MAP: u16 = 0;
/// See [`MAP`].
pub const UNMAP: u16 = 1;
/// See [`MAP`].
pub const PROTECT: u16 = 2;
/// See [`MAP`].
pub const RESERVE: u16 = 3;
/// See [`MAP`].
pub const COMMIT: u16 = 4;
/// See [`MAP`].
pub const DECOMMIT: u16 = 5;
/// Methods of MemoryObject, whose `map` has an offset behind the address.
pub const OBJECT_MAP: u16 = 1;
/// See [`OBJECT_MAP`].
pub const OBJECT_UNMAP: u16 = 2;
/// See [`OBJECT_MAP`].
pub const OBJECT_PROTECT: u16 = 3;

/// A method of the program's own address space.
pub fn space(method: u16, numbers: &[u64]) -> Result<u64, Failed> {
    let answer = cap("virtual_memory").numbers(method, numbers)?;
    Ok(answer.u64(0))
}

/// Fresh pages to write; where.
pub fn fresh(pages: u64) -> Result<u64, Failed> {
    space(MAP, &[0, pages * PAGE, WRITE])
}

/// A memory object of so many pages.
pub fn object(pages: u64) -> Result<Cap, Failed> {
    let answer = cap("frame_allocator").numbers(1, &[pages])?;
    answer.caps.first().copied().ok_or(Failed {
        code: 0,
        exception: None,
    })
}

/// Maps so many pages of an object from its beginning, where there is room or at an address; where.
pub fn map_object(object: Cap, at: u64, pages: u64, rights: u64) -> Result<u64, Failed> {
    let answer = object.numbers(OBJECT_MAP, &[at, 0, pages * PAGE, rights])?;
    Ok(answer.u64(0))
}

/// A number at an address; what is not there ends the program.
pub fn read(at: u64) -> u64 {
    // SAFETY: smokes read what they have mapped, for themselves alone; where nothing is mapped, or what may
    // not be read, the processor faults, and the kernel ends the program: that is what is tested.
    unsafe { (at as *const u64).read_volatile() }
}

/// Writes a number.
pub fn write(at: u64, number: u64) {
    // SAFETY: as in `read`; no reference of Rust's leads to what a smoke maps.
    unsafe { (at as *mut u64).write_volatile(number) }
}

/// Writes an instruction that returns.
pub fn write_code(at: u64) {
    // SAFETY: as in `write`.
    unsafe { (at as *mut u8).write_volatile(0xc3) }
}

/// Runs what is there.
pub fn run(at: u64) {
    // SAFETY: an instruction that returns was written there, or it cannot be run, and the program ends.
    unsafe { core::arch::asm!("call {}", in(reg) at, clobber_abi("sysv64")) }
}

/// Whether a range is all zeros.
pub fn is_zero(at: u64, pages: u64) -> bool {
    (0..pages).all(|page| {
        let at = at + page * PAGE;
        (0..PAGE).step_by(8).all(|offset| read(at + offset) == 0)
    })
}

/// Writes a number all over a range.
pub fn fill(at: u64, pages: u64, number: u64) {
    for at in (at..at + pages * PAGE).step_by(8) {
        write(at, number);
    }
}

/// A word that processes and threads share, at an address.
pub fn word(at: u64) -> &'static AtomicU32 {
    // SAFETY: as in `read`: smokes say where they have mapped memory, in which words are used as atomics
    // alone; where there is none any more, what is done with the word faults, or the kernel refuses it.
    unsafe { &*(at as *const AtomicU32) }
}

/// Words that a smoke and its child both have: a page of an object that is granted as `shared`.
#[derive(Clone, Copy, Debug)]
pub struct Shared(u64);

impl Shared {
    /// Of an object.
    pub fn of(object: Cap) -> Option<Self> {
        map_object(object, 0, 1, WRITE).ok().map(Self)
    }

    /// The child's.
    pub fn granted() -> Option<Self> {
        Self::of(held("shared")?)
    }

    /// One of its words.
    pub fn word(self, number: usize) -> &'static AtomicU32 {
        let at = (self.0 + 4 * (number as u64 % 1024)) as *const AtomicU32;
        // SAFETY: the page is mapped as long as the program lives, which never unmaps it; the words are
        // aligned, and whoever reaches them uses them as atomic ones.
        unsafe { &*at }
    }

    /// What a word holds.
    pub fn get(self, number: usize) -> u32 {
        self.word(number).load(Ordering::SeqCst)
    }

    /// Puts something into a word.
    pub fn set(self, number: usize, value: u32) {
        self.word(number).store(value, Ordering::SeqCst);
    }
}
