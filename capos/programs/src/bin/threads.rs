//! Threads: they are made, joined, let go of, limited, and the last one's end is the process's.
#![no_std]
#![no_main]

use bailiwick_capos_programs::{INVALID, OVERLOADED, Smoke, cap, child, outcome, sleep};
use bailiwick_capos_rt::call::Cap;
use bailiwick_capos_rt::{core_::message::Message, entry, park, sys, thread};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

entry!(main);

const STACK: usize = 16 * 1024;

#[repr(align(16))]
struct Stacks {
    _bytes: [[u8; STACK]; 16],
}

static mut STACKS: Stacks = Stacks {
    _bytes: [[0; STACK]; 16],
};
static GATE: AtomicU32 = AtomicU32::new(0);
static SEEN: AtomicU64 = AtomicU64::new(0);
static NUMBER: AtomicU32 = AtomicU32::new(0);

fn begin(
    entry: extern "C" fn(u64, u32) -> !,
    argument: u64,
    slot: usize,
) -> Result<Cap, bailiwick_capos_rt::call::Failed> {
    let top = (&raw mut STACKS) as u64 + ((slot + 1) * STACK) as u64;
    thread::begin_on(cap("thread_spawner"), entry, argument, top)
}

extern "C" fn tells(argument: u64, number: u32) -> ! {
    SEEN.store(argument, Ordering::Release);
    NUMBER.store(number, Ordering::Release);
    thread::end(cap("thread_control"), number, (argument + 1).cast_signed())
}

extern "C" fn waits(argument: u64, number: u32) -> ! {
    while GATE.load(Ordering::Acquire) == 0 {
        park::park(cap("park_space"), number, &GATE, 0, u64::MAX);
    }
    thread::end(cap("thread_control"), number, argument.cast_signed())
}

extern "C" fn has_base(argument: u64, number: u32) -> ! {
    let control = cap("thread_control");
    let before = thread::fs_base(control, number).unwrap_or(1);
    let set = thread::set_fs_base(control, number, argument).is_ok();
    let mut right = before == 0 && set;
    for _ in 0..200 {
        let base: u64;
        // SAFETY: the word at the thread's base is the smoke's own, and holds its own address.
        unsafe { core::arch::asm!("mov {}, fs:[0]", out(reg) base) }
        right &= base == argument;
        sys::enter(0, 0);
    }
    thread::end(control, number, i64::from(!right))
}

fn told(handle: Cap) -> (bool, i64) {
    let Ok(answer) = handle.call(1, &[]) else {
        return (false, -99);
    };
    let message = Message::parse(&answer.bytes);
    let root = message.as_ref().ok().and_then(|m| m.root().ok());
    root.map_or((false, -98), |root| (root.bool(0), root.i64(8)))
}

fn life(smoke: &mut Smoke) {
    for round in 0..300 {
        let Ok(handle) = begin(tells, round, (round % 8) as usize) else {
            smoke.check("a thread is made", false);
            return;
        };
        let joined = thread::join(handle) == Ok((round + 1).cast_signed());
        smoke.check("it is joined, with its code", joined);
        smoke.check(
            "it has had its argument",
            SEEN.load(Ordering::Acquire) == round,
        );
        let number = u64::from(NUMBER.load(Ordering::Acquire));
        smoke.check("and its number", number == round + 2);
        let code = (round + 1).cast_signed();
        smoke.check("its code stays", told(handle) == (true, code));
        smoke.check("it is joined again", thread::join(handle) == Ok(code));
        smoke.check("its handle is let go of", handle.release() == 0);
    }
}

fn limit(smoke: &mut Smoke) {
    GATE.store(0, Ordering::Release);
    let mut handles = [None; 15];
    for (slot, handle) in handles.iter_mut().enumerate() {
        *handle = begin(waits, 100 + slot as u64, slot).ok();
        smoke.check("15 more than the first are made", handle.is_some());
    }
    let over = begin(waits, 0, 15);
    smoke.check("and no 16th", outcome(&over) == OVERLOADED);
    if let Some(handle) = handles[0] {
        smoke.check("one that runs has no code", told(handle) == (false, 0));
    }
    GATE.store(1, Ordering::Release);
    let mut left = 15;
    while left > 0 {
        left -= park::unpark(cap("park_space"), &GATE, 16).max(0);
        // Whoever had not parked yet sees the gate.
        if left > 0 && handles.iter().flatten().all(|handle| told(*handle).0) {
            break;
        }
    }
    for (slot, handle) in handles.into_iter().flatten().enumerate() {
        let code = 100 + slot as i64;
        smoke.check("all are joined", thread::join(handle) == Ok(code));
        smoke.check("and let go of", handle.release() == 0);
    }
    let again = begin(tells, 1, 0);
    smoke.check(
        "there is room again",
        again.is_ok_and(|h| thread::join(h) == Ok(2) && h.release() == 0),
    );
}

fn refusals(smoke: &mut Smoke) {
    let spawner = cap("thread_spawner");
    let entry = tells as *const () as u64;
    let stack = (&raw mut STACKS) as u64 + STACK as u64;
    for [entry, stack, base, flags] in [
        [1 << 47, stack, 0, 0],
        [u64::MAX, stack, 0, 0],
        [entry, stack + 8, 0, 0],
        [entry, 1 << 63, 0, 0],
        [entry, stack, 1 << 47, 0],
        [entry, stack, 0, 1],
    ] {
        let made = spawner.numbers(0, &[entry, stack, 0, base, flags]);
        smoke.check("a thread with wrong parameters", outcome(&made) == INVALID);
    }
    let base = cap("thread_control").numbers(1, &[u64::MAX]);
    smoke.check("an FS base of the kernel's", outcome(&base) == INVALID);
}

fn bases(smoke: &mut Smoke) {
    static BASES: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
    let handles = [0, 1, 2].map(|slot| {
        let own = BASES[slot].as_ptr() as u64;
        BASES[slot].store(own, Ordering::Release);
        begin(has_base, own, slot)
    });
    for handle in handles {
        let joined = handle.is_ok_and(|h| thread::join(h) == Ok(0) && h.release() == 0);
        smoke.check("each thread has its own FS base", joined);
    }
}

fn detached(smoke: &mut Smoke) {
    SEEN.store(0, Ordering::Release);
    let handle = begin(tells, 77, 9);
    smoke.check(
        "a handle is let go of at once",
        handle.is_ok_and(|h| h.release() == 0),
    );
    for _ in 0..1000 {
        if SEEN.load(Ordering::Acquire) == 77 {
            break;
        }
        sleep(1);
    }
    smoke.check("the thread runs on", SEEN.load(Ordering::Acquire) == 77);
}

fn ends(smoke: &mut Smoke) {
    for (role, code) in [
        ("last-thread", 9),
        ("thread-exits", 13),
        ("exit-others", 11),
    ] {
        let code_of = child(role, &[]).map(|child| child.wait());
        smoke.check(role, code_of == Ok(Ok(code)));
    }
}

fn main() -> i64 {
    let Some(mut smoke) = Smoke::begin("threads") else {
        return 2;
    };
    life(&mut smoke);
    limit(&mut smoke);
    refusals(&mut smoke);
    bases(&mut smoke);
    detached(&mut smoke);
    ends(&mut smoke);
    smoke.end()
}
