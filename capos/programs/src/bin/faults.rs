//! Faults: whatever a program does wrong, it ends alone. Its parent hears of it, and a process beside it and
//! another thread of its parent's go on.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::format;
use bailiwick_capos_programs::{Smoke, cap, child, sleep};
use bailiwick_capos_rt::{entry, sys, thread};
use core::sync::atomic::{AtomicU64, Ordering};

entry!(main);

/// The code of a process that was ended by its fault, and of one that was ended from outside.
const FAULTED: i64 = -2;
const TERMINATED: i64 = -1;

const KINDS: [&str; 14] = [
    "page",
    "null",
    "kernel",
    "execute",
    "code",
    "capset",
    "gp",
    "address",
    "port",
    "ud",
    "divide",
    "stack",
    "breakpoint",
    "interrupt",
];

static BEATS: AtomicU64 = AtomicU64::new(0);

extern "C" fn beats(_: u64, _: u32) -> ! {
    loop {
        BEATS.fetch_add(1, Ordering::SeqCst);
        core::hint::spin_loop();
    }
}

/// Whether the other thread goes on.
fn goes_on() -> bool {
    let before = BEATS.load(Ordering::SeqCst);
    (0..2000).any(|_| {
        sleep(1);
        BEATS.load(Ordering::SeqCst) > before
    })
}

fn main() -> i64 {
    let Some(mut smoke) = Smoke::begin("faults") else {
        return 2;
    };
    let beating = thread::begin(cap("thread_spawner"), beats, 0);
    smoke.check("a thread begins", beating.is_ok());
    let Ok(beside) = child("sleep", &[]) else {
        smoke.check("a process beside it", false);
        return smoke.end();
    };
    let end = beside.handle.begin(0, &[], &[]);
    sys::enter(0, 0);
    for kind in KINDS {
        let ended = child(&format!("fault-{kind}"), &[]).and_then(|child| child.wait());
        smoke.check(kind, ended == Ok(FAULTED));
        smoke.check("another thread goes on", goes_on());
    }
    // Two at the same time, on two processors where there are two.
    for pair in KINDS.chunks(2) {
        let both = pair.iter().map(|kind| child(&format!("fault-{kind}"), &[]));
        let both: alloc::vec::Vec<_> = both.collect();
        for made in both {
            smoke.check(
                "two at once",
                made.and_then(|child| child.wait()) == Ok(FAULTED),
            );
        }
    }
    let Err(end) = end.poll() else {
        smoke.check("the process beside them went on", false);
        return smoke.end();
    };
    smoke.check(
        "the process beside them is ended",
        beside.terminate().is_ok(),
    );
    let code = end.wait().map(|answer| answer.u64(0).cast_signed());
    smoke.check("and had gone on until then", code == Ok(TERMINATED));
    smoke.end()
}
