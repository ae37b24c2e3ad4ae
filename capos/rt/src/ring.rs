//! The program's ring. Any thread may submit; whoever reads completions puts those of others where they
//! find them.

use crate::lock::Lock;
use crate::sys;
use alloc::collections::BTreeMap;
use bailiwick_capos_core::layout::RING;
use bailiwick_capos_core::ring::{
    CQE_SIZE, Cqe, SQ_ENTRIES, SQE_SIZE, Sqe, cqe_at, header, sqe_at,
};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Completions that were read and belong to threads that have not asked yet.
static DONE: Lock<BTreeMap<u64, Cqe>> = Lock::new(BTreeMap::new());
/// Held by whoever writes a submission.
static SUBMITS: Lock<()> = Lock::new(());
static NEXT: AtomicU64 = AtomicU64::new(1);
/// How long a wait takes at most. Another thread may read a completion between the look for it and the wait,
/// so that where there are several, each looks again after a while.
static PATIENCE: AtomicU64 = AtomicU64::new(sys::FOR_EVER);

/// There are several threads from now on.
pub(crate) fn share() {
    PATIENCE.store(1_000_000, Ordering::Relaxed);
}

/// A word of the ring's header, for programs that test what the kernel makes of a wrong one, too.
pub fn word(offset: usize) -> &'static AtomicU32 {
    // SAFETY: the kernel maps the ring there as long as the process lives; the words of the header are
    // aligned, and both sides use them as atomic ones.
    unsafe { &*((RING + offset as u64) as *const AtomicU32) }
}

/// A number that no other submission has.
pub fn number() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Writes a submission; whether there was room.
pub fn submit(sqe: &Sqe) -> bool {
    let _submits = SUBMITS.lock();
    let tail = word(header::SQ_TAIL).load(Ordering::Relaxed);
    if tail.wrapping_sub(word(header::SQ_HEAD).load(Ordering::Acquire)) >= SQ_ENTRIES {
        return false;
    }
    let at = (RING + sqe_at(tail) as u64) as *mut [u8; SQE_SIZE];
    // SAFETY: the entry lies in the ring's page, and the kernel does not read it before the tail is past it.
    unsafe { at.write_volatile(sqe.to_bytes()) }
    word(header::SQ_TAIL).store(tail.wrapping_add(1), Ordering::Release);
    true
}

/// Reads one completion, whosever it is.
pub fn read() -> Option<Cqe> {
    let head = word(header::CQ_HEAD).load(Ordering::Relaxed);
    if head == word(header::CQ_TAIL).load(Ordering::Acquire) {
        return None;
    }
    let at = (RING + cqe_at(head) as u64) as *const [u8; CQE_SIZE];
    // SAFETY: the kernel has completed the entry, which lies in the ring's page.
    let cqe = Cqe::from_bytes(&unsafe { at.read_volatile() });
    word(header::CQ_HEAD).store(head.wrapping_add(1), Ordering::Release);
    Some(cqe)
}

/// The completion with this number, if it is there.
pub fn find(number: u64) -> Option<Cqe> {
    let mut done = DONE.lock();
    if let Some(cqe) = done.remove(&number) {
        return Some(cqe);
    }
    while let Some(cqe) = read() {
        if cqe.user_data == number {
            return Some(cqe);
        }
        done.insert(cqe.user_data, cqe);
    }
    None
}

/// Waits for the completion with this number.
pub fn wait(number: u64) -> Cqe {
    // What is done at once another thread may have read before this one would wait for it.
    if PATIENCE.load(Ordering::Relaxed) != sys::FOR_EVER {
        sys::enter(0, 0);
    }
    loop {
        if let Some(cqe) = find(number) {
            return cqe;
        }
        if sys::enter(1, PATIENCE.load(Ordering::Relaxed)) >= sys::BUSY {
            // Another thread waits or submits: it reads for this one as well.
            core::hint::spin_loop();
        }
    }
}

/// Submits and waits.
pub fn run(sqe: &Sqe) -> Cqe {
    while !submit(sqe) {
        sys::enter(0, 0);
    }
    wait(sqe.user_data)
}
