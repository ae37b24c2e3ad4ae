//! Pipes: bytes in their order, ends that wait, and ends that go.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;
use bailiwick_capos_core::message::Message;
use bailiwick_capos_programs::{
    DISCONNECTED, INVALID, Smoke, UNIMPLEMENTED, cap, child, data_message, outcome, pipe, sleep,
};
use bailiwick_capos_rt::call::{Answer, Cap, Failed};
use bailiwick_capos_rt::caps::Grant;
use bailiwick_capos_rt::{entry, sys};

entry!(main);

/// What a read gave: bytes, and whether it was the end.
fn read(answer: Result<Answer, Failed>) -> Result<(Vec<u8>, bool), Failed> {
    answer.map(|answer| {
        let message = Message::parse(&answer.bytes);
        let ends = message.is_ok_and(|m| m.root().is_ok_and(|root| root.bool(0)));
        (answer.data(0), ends)
    })
}

fn written(answer: &Result<Answer, Failed>) -> u64 {
    answer.as_ref().map_or(u64::MAX, |answer| answer.u64(0))
}

fn reads(end: Cap, most: u64) -> Result<(Vec<u8>, bool), Failed> {
    read(end.numbers(0, &[most]))
}

fn bytes(smoke: &mut Smoke) {
    let Some((from, to)) = pipe(16) else {
        smoke.check("a pipe is made", false);
        return;
    };
    let write = |bytes: &[u8]| written(&to.call(1, &data_message(bytes)));
    smoke.check("bytes are written", write(b"abcdef") == 6);
    smoke.check(
        "and read in part",
        reads(from, 4) == Ok((b"abcd".into(), false)),
    );
    smoke.check("and the rest", reads(from, 99) == Ok((b"ef".into(), false)));
    smoke.check("as many as there is room for", write(&[9; 40]) == 16);
    let waits = to.begin(1, &data_message(b"xyz"), &[]);
    sys::enter(0, 0);
    smoke.check(
        "a full pipe waits for its reader",
        reads(from, 16) == Ok(([9; 16].into(), false)),
    );
    smoke.check("then goes on", written(&waits.wait()) == 3);
    smoke.check(
        "nothing is lost",
        reads(from, 16) == Ok((b"xyz".into(), false)),
    );
    let waits = from.begin(0, &bailiwick_capos_rt::call::numbers_message(&[8]), &[]);
    sys::enter(0, 0);
    smoke.check("an empty one for its writer", write(b"q") == 1);
    smoke.check(
        "and then tells",
        read(waits.wait()) == Ok((b"q".into(), false)),
    );
    smoke.check("nothing written is nothing", write(b"") == 0);
    smoke.check(
        "who writes does not read",
        outcome(&reads(to, 1)) == UNIMPLEMENTED,
    );
    let wrong = from.call(1, &data_message(b"z"));
    smoke.check("nor the other way round", outcome(&wrong) == UNIMPLEMENTED);
    smoke.check("a last word", write(b"end") == 3);
    smoke.check("the writer goes", to.release() == 0);
    smoke.check(
        "what it wrote is there",
        reads(from, 2) == Ok((b"en".into(), false)),
    );
    smoke.check("with the end", reads(from, 2) == Ok((b"d".into(), true)));
    smoke.check("which stays", reads(from, 2) == Ok((b"".into(), true)));
    from.release();
    let Some((from, to)) = pipe(4) else {
        return;
    };
    let waits = to.begin(1, &data_message(b"1234"), &[]);
    let more = to.begin(1, &data_message(b"5678"), &[]);
    sys::enter(0, 0);
    smoke.check("the reader goes", from.release() == 0);
    smoke.check("what fitted was written", written(&waits.wait()) == 4);
    smoke.check("what waited is told", outcome(&more.wait()) == DISCONNECTED);
    smoke.check(
        "and what comes then",
        outcome(&to.call(1, &data_message(b"9"))) == DISCONNECTED,
    );
    to.release();
    for size in [0, 65_537, u64::from(u32::MAX)] {
        let made = cap("process_spawner").numbers(1, &[size]);
        smoke.check("a pipe of no size", outcome(&made) == INVALID);
    }
}

/// A process at the other end, which ends.
fn peers(smoke: &mut Smoke) {
    for pause in [0, 5] {
        let Some((from, to)) = pipe(16) else {
            smoke.check("a pipe is made", false);
            return;
        };
        let made = child("write", &[Grant::Move("pipe", to)]);
        smoke.check("an end is moved away", to.release() < 0);
        smoke.check(
            "its bytes come",
            reads(from, 4) == Ok(([1; 4].into(), false)),
        );
        sleep(pause);
        let ended = made.map(|child| child.terminate().is_ok() && child.wait() == Ok(-1));
        smoke.check("who writes ends", ended == Ok(true));
        let mut last = reads(from, 64);
        while last.as_ref().is_ok_and(|(_, ends)| !ends) {
            last = reads(from, 64);
        }
        smoke.check("and so does the pipe", last.is_ok());
        from.release();
        let Some((from, to)) = pipe(16) else {
            return;
        };
        let made = child("read", &[Grant::Move("pipe", from)]);
        sleep(pause);
        let ended = made.map(|child| child.terminate().is_ok() && child.wait() == Ok(-1));
        smoke.check("who reads ends", ended == Ok(true));
        smoke.check(
            "nobody reads",
            outcome(&to.call(1, &data_message(b"9"))) == DISCONNECTED,
        );
        to.release();
    }
}

/// Who waits to read at an end that is closed is told so.
fn closed(smoke: &mut Smoke) {
    let Some((from, to)) = pipe(16) else {
        smoke.check("a pipe is made", false);
        return;
    };
    let waits = from.begin(0, &bailiwick_capos_rt::call::numbers_message(&[8]), &[]);
    sys::enter(0, 0);
    smoke.check("the reader's end is closed", from.call(2, &[]).is_ok());
    smoke.check(
        "who waits at it is told",
        outcome(&waits.wait()) == DISCONNECTED,
    );
    smoke.check(
        "and who reads at it then",
        outcome(&from.numbers(0, &[8])) == DISCONNECTED,
    );
    from.release();
    to.release();
}

fn main() -> i64 {
    let Some(mut smoke) = Smoke::begin("pipe") else {
        return 2;
    };
    bytes(&mut smoke);
    peers(&mut smoke);
    closed(&mut smoke);
    smoke.end()
}
