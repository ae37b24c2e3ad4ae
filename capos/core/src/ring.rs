//! The ring: one page through which a process asks the kernel, and the kernel answers.
//!
//! Decision: entries are read into a value first and checked as a whole after that, for the process
//! can change the page at any time. A field that an operation does not use has to be zero, so that a
//! later meaning of it cannot be smuggled in today. Counters that cannot be true are not repaired:
//! everything that was queued is discarded. The layout is version 1 of `capos-config`'s `ring`.

mod entry;
mod transfer;

pub use entry::{Cqe, MessageHeader, Sqe};
pub use transfer::{MAX_TRANSFERS, Mode, Transfer, TransferResult, transfers_at};

use crate::bytes::put;

/// Entries of the submission queue.
pub const SQ_ENTRIES: u32 = 16;
/// Entries of the completion queue.
pub const CQ_ENTRIES: u32 = 32;
/// Bytes of a submission.
pub const SQE_SIZE: usize = 64;
/// Bytes of a completion.
pub const CQE_SIZE: usize = 32;
/// Where submissions begin in the page, in bytes.
pub const SQES: usize = 128;
/// Where completions begin in the page, in bytes.
pub const CQES: usize = SQES + SQ_ENTRIES as usize * SQE_SIZE;

/// Offsets in bytes of the header's words, each of 32 bits.
pub mod header {
    /// The next submission that the kernel takes. The kernel writes it.
    pub const SQ_HEAD: usize = 0;
    /// One past the last submission. The process writes it.
    pub const SQ_TAIL: usize = 4;
    /// Entries of the submission queue less one.
    pub const SQ_MASK: usize = 8;
    /// Entries of the submission queue.
    pub const SQ_ENTRIES: usize = 12;
    /// Flags of the submission queue; always 0 without a polling kernel.
    pub const SQ_FLAGS: usize = 16;
    /// The next completion that the process takes. The process writes it.
    pub const CQ_HEAD: usize = 20;
    /// One past the last completion. The kernel writes it.
    pub const CQ_TAIL: usize = 24;
    /// Entries of the completion queue less one.
    pub const CQ_MASK: usize = 28;
    /// Entries of the completion queue.
    pub const CQ_ENTRIES: usize = 32;
    /// Flags of the completion queue; always 0.
    pub const CQ_FLAGS: usize = 36;
    /// Completions that found no room. The kernel writes it.
    pub const CQ_OVERFLOW: usize = 40;
    /// Where submissions begin, in bytes.
    pub const SQE_OFFSET: usize = 44;
    /// Where completions begin, in bytes.
    pub const CQE_OFFSET: usize = 48;
}

/// Operations: [`Sqe::opcode`].
pub mod op {
    /// Calls a method of a capability.
    pub const CALL: u8 = 0;
    /// Answers a call that was received.
    pub const RETURN: u8 = 1;
    /// Waits for a call on an endpoint.
    pub const RECV: u8 = 2;
    /// Gives up a capability.
    pub const RELEASE: u8 = 3;
    /// Reserved; answered with [`error::UNSUPPORTED`](super::error::UNSUPPORTED).
    pub const FINISH: u8 = 4;
    /// Completes and does nothing.
    pub const NOP: u8 = 5;
    /// Takes back a RECV.
    pub const CANCEL: u8 = 6;
    /// Measures parking; only in kernels that are built for measuring.
    pub const PARK_BENCH: u8 = 7;
    /// Waits while a word of memory has a value.
    pub const PARK: u8 = 8;
    /// Wakes who waits for a word.
    pub const UNPARK: u8 = 9;
}

/// Flags of a submission: [`Sqe::flags`].
pub mod flag {
    /// Reserved for promises; refused.
    pub const PIPELINE: u8 = 1;
    /// Reserved for chains; refused.
    pub const LINK: u8 = 2;
    /// Reserved for several completions; refused.
    pub const MULTISHOT: u8 = 4;
    /// Reserved for barriers; refused.
    pub const DRAIN: u8 = 8;
    /// What a RETURN carries is an exception.
    pub const EXCEPTION: u8 = 16;
    /// Only the thread in [`Sqe::call_id`](super::Sqe::call_id) may have this carried out.
    pub const THREAD_OWNED: u8 = 32;
}

/// Flags of a completion: [`Cqe::flags`].
pub mod cqe_flag {
    /// Another completion of the same submission follows.
    pub const MORE: u16 = 1;
    /// [`Cqe::cap_count`](super::Cqe::cap_count) records of capabilities follow the result.
    pub const CAPS: u16 = 2;
}

/// What a completion's result says when an operation failed.
pub mod error {
    /// The submission makes no sense.
    pub const INVALID: i32 = -1;
    /// The parameters cannot be read.
    pub const PARAMS: i32 = -2;
    /// The result cannot be written.
    pub const RESULT: i32 = -3;
    /// The call could not be made; the capability is gone, for example.
    pub const INVOKE: i32 = -4;
    /// The operation is reserved.
    pub const UNSUPPORTED: i32 = -5;
    /// The capability may not be transferred in this way.
    pub const TRANSFER: i32 = -6;
    /// A transfer descriptor makes no sense.
    pub const DESCRIPTOR: i32 = -7;
    /// A transfer began and was undone.
    pub const ABORTED: i32 = -8;
    /// The method failed; the exception is in the result.
    pub const EXCEPTION: i32 = -9;
    /// The method failed; the exception did not fit into the result.
    pub const EXCEPTION_CUT: i32 = -10;
}

/// What a completion of [`op::PARK`] says.
pub mod park {
    /// Woken by an UNPARK.
    pub const WOKEN: i32 = 0;
    /// The word had another value; the thread did not wait.
    pub const MISMATCH: i32 = 1;
    /// The time was over first.
    pub const TIMED_OUT: i32 = 2;
    /// The memory or the thread went away.
    pub const INTERRUPTED: i32 = 3;
}

/// What a caller may have told about itself: the bits of [`Sqe::session_disclosure`].
pub const DISCLOSURE: u64 = 7;

/// Counters that cannot be true: more is pending than the queue holds.
///
/// The consumer sets its head to the tail and thereby discards what is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

/// How many entries are pending between free-running counters.
pub fn pending(head: u32, tail: u32, entries: u32) -> Result<u32, Corrupt> {
    let count = tail.wrapping_sub(head);
    if count <= entries {
        Ok(count)
    } else {
        Err(Corrupt)
    }
}

/// Where the submission of a counter begins in the page, in bytes.
pub fn sqe_at(counter: u32) -> usize {
    SQES + (counter % SQ_ENTRIES) as usize * SQE_SIZE
}

/// Where the completion of a counter begins in the page, in bytes.
pub fn cqe_at(counter: u32) -> usize {
    CQES + (counter % CQ_ENTRIES) as usize * CQE_SIZE
}

/// Makes `page` an empty ring.
pub fn init_page(page: &mut [u8; 4096]) {
    page.fill(0);
    let words = [
        (header::SQ_MASK, SQ_ENTRIES - 1),
        (header::SQ_ENTRIES, SQ_ENTRIES),
        (header::CQ_MASK, CQ_ENTRIES - 1),
        (header::CQ_ENTRIES, CQ_ENTRIES),
        (header::SQE_OFFSET, SQES as u32),
        (header::CQE_OFFSET, CQES as u32),
    ];
    for (at, word) in words {
        put(page, at, &word.to_le_bytes());
    }
}

const _: () = assert!(CQES == 1152 && CQES + CQ_ENTRIES as usize * CQE_SIZE <= 4096);

#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;
