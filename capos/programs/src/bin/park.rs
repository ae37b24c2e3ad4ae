//! Parking: what ends it, what it refuses, and that no wake is lost between processors.
#![no_std]
#![no_main]

extern crate alloc;

use bailiwick_capos_core::ring::{Sqe, error, flag, header, op, park as ends};
use bailiwick_capos_programs::{Smoke, cap, now, processors, sleep};
use bailiwick_capos_rt::{entry, park, ring, sys, thread};
use core::sync::atomic::{AtomicU32, Ordering};

entry!(main);

/// Rounds between processors, and on one alone.
const ROUNDS: u32 = 100_000;
/// On one, and on more than two, of which a host with two cores runs some at a time.
const ROUNDS_ON_OTHERS: u32 = 10_000;

static WORD: AtomicU32 = AtomicU32::new(0);
static PING: AtomicU32 = AtomicU32::new(0);
static PONG: AtomicU32 = AtomicU32::new(0);
static PARKED: AtomicU32 = AtomicU32::new(0);

fn result(sqe: &Sqe) -> i32 {
    ring::run(sqe).result
}

fn refusals(smoke: &mut Smoke) {
    let space = cap("park_space");
    let word = || WORD.as_ptr() as u64;
    let good = || Sqe {
        opcode: op::PARK,
        flags: flag::THREAD_OWNED,
        cap_id: space.0,
        user_data: ring::number(),
        addr: word(),
        len: 1,
        call_id: 1,
        ..Sqe::default()
    };
    smoke.check("another value", result(&good()) == ends::MISMATCH);
    let wrong = [
        (Sqe { flags: 0, ..good() }, error::INVALID),
        (
            Sqe {
                call_id: 0,
                ..good()
            },
            error::INVALID,
        ),
        (
            Sqe {
                addr: word() + 1,
                ..good()
            },
            error::PARAMS,
        ),
        (
            Sqe {
                addr: 0x5555_0000,
                ..good()
            },
            error::PARAMS,
        ),
        (
            Sqe {
                addr: u64::MAX - 3,
                ..good()
            },
            error::PARAMS,
        ),
        (
            Sqe {
                cap_id: 0xffff,
                ..good()
            },
            error::INVOKE,
        ),
        (
            Sqe {
                cap_id: cap("timer").0,
                ..good()
            },
            error::INVALID,
        ),
    ];
    for (sqe, code) in wrong {
        smoke.check("a park that makes no sense", result(&sqe) == code);
    }
    smoke.check("nobody is parked", park::unpark(space, &WORD, 5) == 0);
    smoke.check(
        "none are to go on",
        park::unpark(space, &WORD, 0) == error::INVALID,
    );
    let began = now();
    let timed = park::park(space, 1, &WORD, 0, 3_000_000);
    smoke.check("a time that is over", timed == ends::TIMED_OUT);
    smoke.check("not before", now() - began >= 3_000_000);
    for _ in 0..50 {
        let timed = park::park(space, 1, &WORD, 0, 1000);
        smoke.check("a short time that is over", timed == ends::TIMED_OUT);
    }
    // One of a thread that there is not stands at the head, until it is taken back.
    let anothers = Sqe {
        call_id: 99,
        ..good()
    };
    ring::submit(&anothers);
    smoke.check("another thread's entry", sys::enter(0, 0) == sys::ANOTHERS);
    let head = ring::word(header::SQ_HEAD).load(Ordering::Acquire);
    ring::word(header::SQ_TAIL).store(head, Ordering::Release);
    smoke.check("is taken back", sys::enter(0, 0) == 0);
}

extern "C" fn parks(argument: u64, number: u32) -> ! {
    let word = match argument {
        0 => &WORD,
        // SAFETY: the page is mapped until this thread has parked on it.
        at => unsafe { &*(at as *const AtomicU32) },
    };
    PARKED.fetch_add(1, Ordering::AcqRel);
    let result = park::park(cap("park_space"), number, word, 0, u64::MAX);
    thread::end(cap("thread_control"), number, result.into())
}

/// Lets a thread of `parks` come to its wait.
fn settle(count: u32) {
    while PARKED.load(Ordering::Acquire) < count {
        sleep(1);
    }
    sleep(20);
}

fn counts(smoke: &mut Smoke) {
    let space = cap("park_space");
    PARKED.store(0, Ordering::Release);
    let handles = [0; 3].map(|_| thread::begin(cap("thread_spawner"), parks, 0));
    settle(3);
    smoke.check("two of three go on", park::unpark(space, &WORD, 2) == 2);
    smoke.check("then the third", park::unpark(space, &WORD, 9) == 1);
    smoke.check("then nobody", park::unpark(space, &WORD, 9) == 0);
    for handle in handles {
        smoke.check(
            "woken",
            handle.is_ok_and(|h| thread::join(h) == Ok(0) && h.release() == 0),
        );
    }
}

/// Memory that goes takes those along who wait on it.
fn cleanup(smoke: &mut Smoke) {
    let memory = cap("virtual_memory");
    let Ok(own) = memory.numbers(0, &[0, 4096, 3]) else {
        smoke.check("a page is mapped", false);
        return;
    };
    let Ok(reserved) = memory.numbers(3, &[0, 8192]) else {
        smoke.check("pages are reserved", false);
        return;
    };
    let (own, reserved) = (own.u64(0), reserved.u64(0));
    smoke.check(
        "and committed",
        memory.numbers(4, &[reserved, 8192, 3]).is_ok(),
    );
    let object = cap("frame_allocator")
        .call(0, &[])
        .ok()
        .and_then(|a| a.caps.first().copied());
    let Some(object) = object else {
        smoke.check("a memory object is made", false);
        return;
    };
    let shared = object
        .numbers(1, &[0, 0, 4096, 3])
        .map_or(0, |answer| answer.u64(0));
    smoke.check("and mapped", shared != 0);
    for (at, cap_, method, size) in [
        (own, memory, 1, 4096),
        (reserved, memory, 5, 8192),
        (shared, object, 2, 4096),
    ] {
        PARKED.store(0, Ordering::Release);
        let handle = thread::begin(cap("thread_spawner"), parks, at);
        settle(1);
        smoke.check("memory goes", cap_.numbers(method, &[at, size]).is_ok());
        let code = handle.map(thread::join);
        smoke.check(
            "its wait is interrupted",
            code == Ok(Ok(ends::INTERRUPTED.into())),
        );
    }
    smoke.check(
        "what was reserved goes",
        memory.numbers(1, &[reserved, 8192]).is_ok(),
    );
    smoke.check("the object goes", object.release() == 0);
}

fn wait_for(number: u32, word: &AtomicU32, value: u32) {
    loop {
        let now = word.load(Ordering::Acquire);
        if now == value {
            return;
        }
        park::park(cap("park_space"), number, word, now, u64::MAX);
    }
}

extern "C" fn answers(rounds: u64, number: u32) -> ! {
    for round in 1..=rounds as u32 {
        wait_for(number, &PING, round);
        PONG.store(round, Ordering::Release);
        park::unpark(cap("park_space"), &PONG, 1);
    }
    thread::end(cap("thread_control"), number, 0)
}

fn wakes(smoke: &mut Smoke) {
    let rounds = match processors() {
        2 => ROUNDS,
        _ => ROUNDS_ON_OTHERS,
    };
    let began = now();
    let handle = thread::begin(cap("thread_spawner"), answers, rounds.into());
    for round in 1..=rounds {
        PING.store(round, Ordering::Release);
        park::unpark(cap("park_space"), &PING, 1);
        wait_for(1, &PONG, round);
    }
    smoke.check("no wake is lost", PONG.load(Ordering::Acquire) == rounds);
    let joined = handle.is_ok_and(|h| thread::join(h) == Ok(0) && h.release() == 0);
    smoke.check("both come to their end", joined);
    smoke.say(&alloc::format!(
        "rounds={rounds} ms={}",
        (now() - began) / 1_000_000
    ));
}

fn main() -> i64 {
    let Some(mut smoke) = Smoke::begin("park") else {
        return 2;
    };
    refusals(&mut smoke);
    counts(&mut smoke);
    cleanup(&mut smoke);
    wakes(&mut smoke);
    smoke.end()
}
