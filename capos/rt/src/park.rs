//! Parking on a word, by the capability for it.

use crate::call::Cap;
use crate::{ring, sys};
use bailiwick_capos_core::ring::{Sqe, flag, op};
use core::sync::atomic::AtomicU32;

/// Parks this thread, whose number is `thread`, as long as the word is `expected`, for so many nanoseconds
/// at most; what ended that, of `core_::ring::park`.
pub fn park(space: Cap, thread: u32, word: &AtomicU32, expected: u32, timeout: u64) -> i32 {
    let sqe = Sqe {
        opcode: op::PARK,
        flags: flag::THREAD_OWNED,
        cap_id: space.0,
        user_data: ring::number(),
        addr: word.as_ptr() as u64,
        len: expected,
        pipeline_dep: timeout,
        call_id: thread,
        ..Sqe::default()
    };
    while !ring::submit(&sqe) {
        sys::enter(0, 0);
    }
    loop {
        sys::enter(0, 0);
        if let Some(cqe) = ring::find(sqe.user_data) {
            return cqe.result;
        }
    }
}

/// Lets so many threads go on that are parked on a word; how many there were.
pub fn unpark(space: Cap, word: &AtomicU32, most: u32) -> i32 {
    let sqe = Sqe {
        opcode: op::UNPARK,
        cap_id: space.0,
        user_data: ring::number(),
        addr: word.as_ptr() as u64,
        len: most,
        ..Sqe::default()
    };
    ring::run(&sqe).result
}
