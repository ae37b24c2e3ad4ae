//! Parking by words of shared memory: another process, where it has the memory mapped, wakes and is woken;
//! what is not shared, and what is no longer mapped, is not parked on; no wake is lost between processes.
//! The program is its own child.
#![no_std]
#![no_main]

extern crate alloc;

use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::ring::{error, park as ends};
use bailiwick_capos_programs::memory::{
    OBJECT_UNMAP, READ, WRITE, fresh, map_object, object, word,
};
use bailiwick_capos_programs::{Smoke, cap, child_of, processors, sleep};
use bailiwick_capos_rt::call::Cap;
use bailiwick_capos_rt::caps::{Child, Grant};
use bailiwick_capos_rt::{entry, held, park, thread};
use core::sync::atomic::{AtomicU32, Ordering};

entry!(main);

/// Rounds between two processes.
const ROUNDS: u32 = 10_000;
/// Where in the page the words are.
const PING: u64 = 0;
const PONG: u64 = 64;
const READY: u64 = 128;
const WAITED: u64 = 192;

fn parking() -> Cap {
    cap("shared_park_space")
}

/// Waits until a word has a value.
fn wait_for(word: &AtomicU32, value: u32) {
    loop {
        let now = word.load(Ordering::Acquire);
        if now == value {
            return;
        }
        park::park(parking(), 1, word, now, u64::MAX);
    }
}

fn set(word: &AtomicU32, value: u32) {
    word.store(value, Ordering::Release);
    park::unpark(parking(), word, 1);
}

/// A child with the object, and a page of its own before it, so that it has the object elsewhere.
fn child(role: &str, memory: Cap) -> Option<Child> {
    let grants = [
        Grant::Copy("memory", memory),
        Grant::Kernel("shared_park_space", KernelSource::SharedParkSpace),
    ];
    child_of("shared", role, &grants).ok()
}

fn as_child() -> Option<i64> {
    let is = |role: &str| held(role).is_some();
    let at = map_object(cap("memory"), 0, 1, WRITE).ok()?;
    if is("role:answers") {
        for round in 1..=ROUNDS {
            wait_for(word(at + PING), round);
            set(word(at + PONG), round);
        }
        return Some(0);
    }
    if is("role:waits") {
        word(at + READY).fetch_add(1, Ordering::AcqRel);
        return Some(park::park(parking(), 1, word(at + WAITED), 0, u64::MAX).into());
    }
    None
}

/// Where the parent has the page: not where a child has it.
fn mapped(smoke: &mut Smoke, memory: Cap) -> Option<u64> {
    let _before = fresh(3);
    let at = map_object(memory, 0, 1, WRITE).ok();
    smoke.check("the memory is mapped", at.is_some());
    at
}

fn refusals(smoke: &mut Smoke, memory: Cap, at: u64) {
    let own = fresh(1).unwrap_or_default();
    smoke.check(
        "a word that is not shared",
        park::park(parking(), 1, word(own), 0, 1) == error::INVALID
            && park::unpark(parking(), word(own), 1) == error::INVALID,
    );
    smoke.check(
        "another value",
        park::park(parking(), 1, word(at), 1, u64::MAX) == ends::MISMATCH,
    );
    smoke.check(
        "a time that is over",
        park::park(parking(), 1, word(at), 0, 1000) == ends::TIMED_OUT,
    );
    let twice = map_object(memory, 0, 1, READ).unwrap_or_default();
    smoke.check("the object is mapped twice", twice != 0 && twice != at);
    let handle = thread::begin(cap("thread_spawner"), parks, twice);
    let woken = (0..10_000).map(|_| {
        sleep(1);
        park::unpark(parking(), word(at), 9)
    });
    smoke.check(
        "who parks by one address is woken by the other",
        woken.into_iter().find(|count| *count != 0) == Some(1),
    );
    let code = handle.map(|h| (thread::join(h), h.release()));
    smoke.check("it was woken", code == Ok((Ok(ends::WOKEN.into()), 0)));
    let handle = thread::begin(cap("thread_spawner"), parks, twice + 64);
    sleep(200);
    smoke.check(
        "one of the places goes, by a byte of its page",
        memory.numbers(OBJECT_UNMAP, &[twice, 1]).is_ok(),
    );
    let code = handle.map(|h| (thread::join(h), h.release()));
    smoke.check(
        "who parked there is interrupted",
        code == Ok((Ok(ends::INTERRUPTED.into()), 0)),
    );
    let gone = park::park(parking(), 1, word(twice), 0, 1);
    smoke.check("nobody parks there", gone == error::INVALID);
}

extern "C" fn parks(at: u64, number: u32) -> ! {
    let result = park::park(parking(), number, word(at), 0, u64::MAX);
    thread::end(cap("thread_control"), number, result.into())
}

fn wakes(smoke: &mut Smoke, memory: Cap, at: u64) {
    let Some(child) = child("answers", memory) else {
        smoke.check("a child", false);
        return;
    };
    for round in 1..=ROUNDS {
        set(word(at + PING), round);
        wait_for(word(at + PONG), round);
    }
    smoke.check("no wake is lost between processes", child.wait() == Ok(0));
}

/// Processes wait, some are ended, the others woken.
fn ended(smoke: &mut Smoke, memory: Cap, at: u64) {
    let ready = word(at + READY);
    for round in 1..=5 {
        ready.store(0, Ordering::Release);
        let children: [_; 3] = [(); 3].map(|()| child("waits", memory));
        let [Some(first), Some(second), Some(third)] = children else {
            smoke.check("three children", false);
            return;
        };
        while ready.load(Ordering::Acquire) < 3 {
            sleep(1);
        }
        sleep(20);
        smoke.check("one is ended", first.terminate().is_ok());
        smoke.check("its code", first.wait() == Ok(-1));
        let mut woken = 0;
        while woken < 2 {
            woken += park::unpark(parking(), word(at + WAITED), 9);
            sleep(1);
        }
        smoke.check(
            "the others are woken, and nobody else",
            woken == 2 && park::unpark(parking(), word(at + WAITED), 9) == 0,
        );
        for child in [&second, &third] {
            smoke.check("woken", child.wait() == Ok(ends::WOKEN.into()));
        }
        let released = [&first, &second, &third]
            .iter()
            .all(|child| child.handle.release() == 0 && child.manager.release() == 0);
        smoke.check(&alloc::format!("round {round} is over"), released);
    }
}

fn main() -> i64 {
    if held("memory").is_some() {
        return as_child().unwrap_or(98);
    }
    let Some(mut smoke) = Smoke::begin("shared") else {
        return 2;
    };
    let Ok(memory) = object(1) else {
        return 3;
    };
    if let Some(at) = mapped(&mut smoke, memory) {
        refusals(&mut smoke, memory, at);
        wakes(&mut smoke, memory, at);
        ended(&mut smoke, memory, at);
    }
    smoke.say(&alloc::format!("processors={}", processors()));
    smoke.end()
}
