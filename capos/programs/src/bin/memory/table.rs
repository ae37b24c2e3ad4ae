//! What is refused, each by a method and its numbers.

use super::FREE;
use bailiwick_capos_core::layout;
use bailiwick_capos_programs::memory::{
    COMMIT, DECOMMIT, MAP, NONE, OBJECT_MAP, OBJECT_PROTECT, OBJECT_UNMAP, PAGE, PROTECT, READ,
    RESERVE, RUN, UNMAP, WRITE,
};
use bailiwick_capos_programs::{INVALID, OVERLOADED};

const KERNEL: u64 = 0xffff_8000_0000_0000;
const IMAGE: u64 = 0xffff_ffff_8080_0000;
const HOLE: u64 = layout::USER_LIMIT;
const HUGE: u64 = u64::MAX;
const LAST: u64 = u64::MAX - 4095;

/// What is refused: a method, its numbers, and how.
pub(crate) const REFUSED: [(u16, &[u64], i32); 44] = [
    (MAP, &[0, 0, WRITE], INVALID),
    (MAP, &[1, PAGE, WRITE], INVALID),
    (MAP, &[FREE + 8, PAGE, WRITE], INVALID),
    (MAP, &[KERNEL, PAGE, READ], INVALID),
    (MAP, &[IMAGE, PAGE, READ], INVALID),
    (MAP, &[HOLE, PAGE, READ], INVALID),
    (MAP, &[HOLE - PAGE, PAGE, RUN], INVALID),
    (MAP, &[HOLE - 2 * PAGE, 2 * PAGE, READ], INVALID),
    (MAP, &[LAST, PAGE, READ], INVALID),
    (MAP, &[LAST, 2 * PAGE, READ], INVALID),
    (MAP, &[0, HUGE, READ], OVERLOADED),
    (MAP, &[0, 4097 * PAGE, READ], OVERLOADED),
    (MAP, &[FREE, LAST, READ], OVERLOADED),
    (MAP, &[layout::IMAGE_BASE, PAGE, WRITE], INVALID),
    (MAP, &[layout::STACK_BASE, PAGE, WRITE], INVALID),
    (MAP, &[layout::STACK_BASE - PAGE, 2 * PAGE, WRITE], INVALID),
    (MAP, &[layout::RING, PAGE, WRITE], INVALID),
    (MAP, &[layout::CAPSET, PAGE, WRITE], INVALID),
    (MAP, &[0, PAGE, 6], INVALID),
    (MAP, &[0, PAGE, 7], INVALID),
    (MAP, &[0, PAGE, 8], INVALID),
    (MAP, &[0, PAGE, 1 << 31], INVALID),
    (UNMAP, &[layout::IMAGE_BASE, PAGE], INVALID),
    (UNMAP, &[layout::STACK_BASE, PAGE], INVALID),
    (UNMAP, &[layout::RING, PAGE], INVALID),
    (UNMAP, &[layout::CAPSET, PAGE], INVALID),
    (UNMAP, &[KERNEL, PAGE], INVALID),
    (UNMAP, &[FREE, PAGE], INVALID),
    (UNMAP, &[0, HUGE], INVALID),
    (UNMAP, &[PAGE, LAST], INVALID),
    (PROTECT, &[layout::CAPSET, PAGE, WRITE], INVALID),
    (PROTECT, &[layout::IMAGE_BASE, PAGE, WRITE], INVALID),
    (PROTECT, &[layout::STACK_BASE, PAGE, RUN], INVALID),
    (PROTECT, &[layout::RING, PAGE, NONE], INVALID),
    (PROTECT, &[FREE, PAGE, READ], INVALID),
    (PROTECT, &[KERNEL, PAGE, READ], INVALID),
    (RESERVE, &[0, 0], INVALID),
    (RESERVE, &[0, HUGE], OVERLOADED),
    (RESERVE, &[0, 262_145 * PAGE], OVERLOADED),
    (RESERVE, &[KERNEL, PAGE], INVALID),
    (COMMIT, &[FREE, PAGE, WRITE], INVALID),
    (COMMIT, &[layout::IMAGE_BASE, PAGE, WRITE], INVALID),
    (DECOMMIT, &[FREE, PAGE], INVALID),
    (DECOMMIT, &[layout::STACK_BASE, PAGE], INVALID),
];

/// The same of a memory object of three pages that is mapped at [`FREE`].
pub(crate) const OBJECT_REFUSED: [(u16, &[u64]); 26] = [
    (OBJECT_MAP, &[0, 0, 0, READ]),
    (OBJECT_MAP, &[0, 0, 4 * PAGE, READ]),
    (OBJECT_MAP, &[0, 0, HUGE, READ]),
    (OBJECT_MAP, &[0, PAGE, 3 * PAGE, READ]),
    (OBJECT_MAP, &[0, 3 * PAGE, PAGE, READ]),
    (OBJECT_MAP, &[0, 8, PAGE, READ]),
    (OBJECT_MAP, &[0, LAST, PAGE, READ]),
    (OBJECT_MAP, &[0, LAST, 2 * PAGE, READ]),
    (OBJECT_MAP, &[0, 0, PAGE, 6]),
    (OBJECT_MAP, &[0, 0, PAGE, 7]),
    (OBJECT_MAP, &[0, 0, PAGE, 16]),
    (OBJECT_MAP, &[KERNEL, 0, PAGE, READ]),
    (OBJECT_MAP, &[HOLE - PAGE, 0, PAGE, READ]),
    (OBJECT_MAP, &[FREE + 1, 0, PAGE, READ]),
    (OBJECT_MAP, &[FREE, 0, PAGE, READ]),
    (OBJECT_MAP, &[FREE - PAGE, 0, 2 * PAGE, READ]),
    (OBJECT_MAP, &[layout::STACK_BASE, 0, PAGE, READ]),
    (OBJECT_UNMAP, &[FREE, 4 * PAGE]),
    (OBJECT_UNMAP, &[FREE + 3 * PAGE, PAGE]),
    (OBJECT_UNMAP, &[FREE, 0]),
    (OBJECT_UNMAP, &[layout::STACK_BASE, PAGE]),
    (OBJECT_UNMAP, &[KERNEL, PAGE]),
    (OBJECT_PROTECT, &[FREE, 4 * PAGE, READ]),
    (OBJECT_PROTECT, &[FREE, PAGE, 7]),
    (OBJECT_PROTECT, &[layout::STACK_BASE, PAGE, READ]),
    (OBJECT_PROTECT, &[FREE, HUGE, READ]),
];
