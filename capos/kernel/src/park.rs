//! Parking: a thread waits until another says that a word of memory has changed. Which word is decided by a
//! key: that of the space that the capability stands for, and where in it the word is.
//!
//! Decision: the word is read, and the thread begins to wait, under the lock under which it is woken, so
//! that no wake between the two is lost.

use crate::call::{Pending, Reply};
use crate::process::Process;
use crate::schedule::{self, Due};
use crate::submit::Next;
use crate::sync::SpinLock;
use crate::thread::Thread;
use alloc::sync::Arc;
use alloc::vec::Vec;
use bailiwick_capos_core::ring::{Cqe, Sqe, error, op, park};

/// A word: by its space and where in it. A process's own words have its number and their addresses there.
pub(crate) type Key = (u64, u64);

/// The space of words of shared memory, which have their places in the machine's memory: no process has it
/// as its number.
pub(crate) const SHARED: u64 = u64::MAX;

struct Parked {
    key: Key,
    /// Where the word is for this thread.
    address: u64,
    thread: Arc<Thread>,
    wait: u64,
    is_timed: bool,
    answer: Pending,
}

const BUCKETS: usize = 32;

static PARKED: [SpinLock<Vec<Parked>>; BUCKETS] = [const { SpinLock::new(Vec::new()) }; BUCKETS];

fn bucket(key: Key) -> &'static SpinLock<Vec<Parked>> {
    let mixed = (key.0 ^ key.1 >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59;
    &PARKED[mixed as usize % BUCKETS]
}

/// A thread that is about to park.
pub(crate) struct Parks {
    key: Key,
    address: u64,
    expected: u32,
    timeout: u64,
    answer: Pending,
}

/// PARK and UNPARK.
pub(crate) fn submitted(thread: &Arc<Thread>, sqe: &Sqe, answer: Pending) -> Next {
    let process = &thread.process;
    let refuse = |answer: Pending, code| {
        answer.complete(Reply::Refused(code));
        Next::Goes
    };
    let Some(hold) = process.hold(sqe.cap_id) else {
        return refuse(answer, error::INVOKE);
    };
    let Some(key) = hold.object.park_key(process, sqe.addr) else {
        return refuse(answer, error::INVALID);
    };
    if !sqe.addr.is_multiple_of(4) {
        return refuse(answer, error::PARAMS);
    }
    if sqe.opcode == op::UNPARK {
        if sqe.len == 0 {
            return refuse(answer, error::INVALID);
        }
        let woken = unpark(key, sqe.len as usize);
        answer.post(Cqe {
            result: woken as i32,
            ..Cqe::default()
        });
        return Next::Goes;
    }
    Next::Parks(Parks {
        key,
        address: sqe.addr,
        expected: sqe.len,
        timeout: sqe.pipeline_dep,
        answer,
    })
}

fn ends(answer: Pending, result: i32) {
    answer.post(Cqe {
        result,
        ..Cqe::default()
    });
}

/// Parks the thread that has entered, if the word is as it expects.
pub(crate) fn wait(thread: Arc<Thread>, parks: Parks) -> ! {
    let process = thread.process.clone();
    let mut parked = bucket(parks.key).lock();
    let mut word = [0; 4];
    let is_there = process.space.read(parks.address, &mut word);
    // Memory that was unmapped meanwhile is looked for in the buckets after that: not seen now, it finds us.
    let is_same = parks.key.0 != SHARED || process.space.shared(parks.address) == Some(parks.key.1);
    if !is_there || !is_same || u32::from_le_bytes(word) != parks.expected || thread.is_over() {
        drop(parked);
        match is_there {
            true => ends(parks.answer, park::MISMATCH),
            false => parks.answer.complete(Reply::Refused(error::PARAMS)),
        }
        // SAFETY: the thread has entered on this processor.
        unsafe { thread.set_result(process.ring.available().into()) }
        drop(process);
        schedule::leave(thread)
    }
    // SAFETY: nothing of its registers is touched behind this, and the scheduler is next.
    let wait = unsafe { thread.wait() };
    // A timeout of 0 is none; as long as can be is for ever.
    let is_timed = parks.timeout != u64::MAX;
    parked.push(Parked {
        key: parks.key,
        address: parks.address,
        thread: thread.clone(),
        wait,
        is_timed,
        answer: parks.answer,
    });
    // Under the lock: whoever ends the wait takes its deadline away, which has to be there by then.
    if is_timed {
        let time = schedule::after(parks.timeout);
        schedule::at(time, Due::Park(thread.clone(), wait));
    }
    drop(parked);
    if thread.is_over() && thread.claim(wait) {
        schedule::ready(thread.clone(), false);
    }
    drop(process);
    drop(thread);
    schedule::run()
}

/// Lets a parked thread go on; whether it was still waiting.
fn go_on(parked: Parked, result: i32) -> bool {
    if !parked.thread.claim(parked.wait) {
        return false;
    }
    if parked.is_timed && result != park::TIMED_OUT {
        schedule::forget_wait(&parked.thread);
    }
    ends(parked.answer, result);
    let available = parked.thread.process.ring.available();
    // SAFETY: the wait was claimed by this.
    unsafe { parked.thread.set_result(available.into()) }
    schedule::ready(parked.thread, false);
    true
}

/// Takes threads out of a bucket, the one that waits longest first.
fn take(key: Key, most: usize, which: impl Fn(&Parked) -> bool) -> Vec<Parked> {
    let mut parked = bucket(key).lock();
    let mut taken = Vec::new();
    let mut at = 0;
    while let Some(one) = parked.get(at).filter(|_| taken.len() < most) {
        match one.key == key && which(one) {
            true => taken.push(parked.remove(at)),
            false => at += 1,
        }
    }
    taken
}

/// Wakes as many as are asked for of those that wait now; how many. Who parks again meanwhile is not looked
/// at twice: others could keep this processor here as long as they want.
fn unpark(key: Key, most: usize) -> usize {
    let waiting = bucket(key).lock();
    let mut left = waiting.iter().filter(|one| one.key == key).count();
    drop(waiting);
    let mut woken = 0;
    while woken < most && left > 0 {
        let taken = take(key, left.min(most - woken), |_| true);
        if taken.is_empty() {
            break;
        }
        left -= taken.len();
        woken += taken
            .into_iter()
            .filter_map(|one| go_on(one, park::WOKEN).then_some(()))
            .count();
    }
    woken
}

/// The time of a wait is over.
pub(crate) fn time_out(thread: &Arc<Thread>, wait: u64) {
    let is_it = |one: &Parked| Arc::ptr_eq(&one.thread, thread) && one.wait == wait;
    take_everywhere(is_it, park::TIMED_OUT);
}

/// Words that are gone: whoever waits for them goes on.
pub(crate) fn interrupt(space: u64, from: u64, to: u64) {
    let is_it = |one: &Parked| {
        u64::from(one.thread.process.number) == space && (from..to).contains(&one.address)
    };
    take_everywhere(is_it, park::INTERRUPTED);
}

/// Nobody of this process waits any more.
pub(crate) fn forget_process(process: &Arc<Process>) {
    for bucket in &PARKED {
        let mut parked = bucket.lock();
        let (out, rest) = core::mem::take(&mut *parked)
            .into_iter()
            .partition::<Vec<_>, _>(|one| Arc::ptr_eq(&one.thread.process, process));
        *parked = rest;
        drop(parked);
        drop(out);
    }
}

fn take_everywhere(which: impl Fn(&Parked) -> bool, result: i32) {
    for bucket in &PARKED {
        let mut parked = bucket.lock();
        let (out, rest) = core::mem::take(&mut *parked)
            .into_iter()
            .partition::<Vec<_>, _>(&which);
        *parked = rest;
        drop(parked);
        out.into_iter().for_each(|one| {
            go_on(one, result);
        });
    }
}
