//! Spawning: what is asked for in a wrong way is refused, nothing is lost by that, and no frame stays.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::message::Builder;
use bailiwick_capos_core::ring::{Sqe, error, op};
use bailiwick_capos_programs::memory::object;
use bailiwick_capos_programs::{INVALID, Smoke, cap, child, data_message, outcome, pipe, sleep};
use bailiwick_capos_rt::call::{Answer, Cap, Failed};
use bailiwick_capos_rt::caps::{Grant, spawn, spawn_message};
use bailiwick_capos_rt::{entry, held, ring};

entry!(main);

/// Files that are no programs, and stand in the manifest as if they were (scripts/capos-smokes).
const BROKEN: [&str; 9] = [
    "cut",
    "headless",
    "magic",
    "bits",
    "machine",
    "relocatable",
    "entry",
    "writable-code",
    "high",
];
/// Modes of a grant.
const RAW: u16 = 0;
const CLIENT: u16 = 1;
const MOVE: u16 = 2;
/// How deep processes make processes.
const DEPTH: usize = 6;

/// A grant as it is written, right or not.
#[derive(Clone)]
struct Row {
    name: String,
    cap: u32,
    mode: u16,
    badge: u64,
    interface: u64,
    source: Option<u16>,
}

impl Row {
    fn of(cap: Cap, mode: u16) -> Self {
        Self {
            name: "granted".into(),
            cap: cap.0,
            mode,
            badge: 0,
            interface: 0,
            source: None,
        }
    }

    fn kernel(ordinal: u16) -> Self {
        Self {
            source: Some(ordinal),
            ..Self::of(Cap(0), RAW)
        }
    }

    fn named(self, name: &str) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }
}

fn message(name: &str, binary: &str, rows: &[Row]) -> Vec<u8> {
    let mut builder = Builder::new(0, 3);
    let root = builder.root();
    builder.set_text(root, 0, name);
    builder.set_text(root, 1, binary);
    let list = builder.list(root, 2, rows.len(), (3, 2));
    for (number, row) in rows.iter().enumerate() {
        let at = list.get(number);
        builder.set_text(at, 0, &row.name);
        builder.set_u32(at, 0, row.cap);
        builder.set_u16(at, 4, row.mode);
        builder.set_u64(at, 8, row.interface);
        builder.set_u64(at, 16, row.badge);
        let source = builder.child(at, 1, 1, 0);
        if let Some(ordinal) = row.source {
            builder.set_u16(source, 0, 1);
            builder.set_u16(source, 2, ordinal);
        }
    }
    builder.finish()
}

fn asked(bytes: &[u8]) -> Result<Answer, Failed> {
    cap("process_spawner").call(0, bytes)
}

fn refused(smoke: &mut Smoke, what: &str, name: &str, binary: &str, rows: &[Row]) {
    let found = outcome(&asked(&message(name, binary, rows)));
    if !smoke.check(what, found == INVALID) {
        smoke.say(&format!("{what}: {found}"));
    }
}

fn names(smoke: &mut Smoke) {
    let null = Row::kernel(KernelSource::Null.ordinal());
    let long = "n".repeat(33);
    let rows = [null.clone()];
    refused(smoke, "an unknown program", "x", "nobody", &rows);
    refused(smoke, "no program's name", "x", "", &rows);
    refused(smoke, "no name", "", "child", &rows);
    refused(smoke, "a long name", &long, "child", &rows);
    for name in ["a\nb", "\u{1b}[1m", "a b", "ä"] {
        refused(smoke, "a name that cannot be told", name, "child", &rows);
    }
    refused(
        smoke,
        "a grant without a name",
        "x",
        "child",
        &[null.clone().named("")],
    );
    refused(
        smoke,
        "a grant with a long name",
        "x",
        "child",
        &[null.clone().named(&long)],
    );
    refused(
        smoke,
        "the same name twice",
        "x",
        "child",
        &[null.clone(), null],
    );
}

fn sources(smoke: &mut Smoke) {
    for ordinal in [6, 8, 19, 999, 0x9fff, 0xa002, u16::MAX] {
        refused(
            smoke,
            "an unknown source",
            "x",
            "child",
            &[Row::kernel(ordinal)],
        );
    }
    let wrong = Row {
        interface: KernelSource::Timer.interface().id,
        ..Row::kernel(KernelSource::Null.ordinal())
    };
    refused(smoke, "another interface", "x", "child", &[wrong]);
}

fn held_ones(smoke: &mut Smoke) {
    let Some((reader, writer)) = pipe(64) else {
        smoke.check("a pipe", false);
        return;
    };
    for id in [0xff, u32::MAX, 0x0100_0000 | 250] {
        refused(
            smoke,
            "what is not held",
            "x",
            "child",
            &[Row::of(Cap(id), RAW)],
        );
    }
    smoke.check("a capability is released", writer.release() == 0);
    refused(
        smoke,
        "what was released",
        "x",
        "child",
        &[Row::of(writer, RAW)],
    );
    refused(
        smoke,
        "what was released, moved",
        "x",
        "child",
        &[Row::of(writer, MOVE)],
    );
    for mode in [4, 17, u16::MAX] {
        refused(
            smoke,
            "an unknown mode",
            "x",
            "child",
            &[Row::of(reader, mode)],
        );
    }
    refused(
        smoke,
        "a client of no endpoint",
        "x",
        "child",
        &[Row::of(reader, CLIENT)],
    );
    for mode in [RAW, MOVE] {
        let console = Row::of(cap("console"), mode);
        refused(smoke, "what is not passed on", "x", "child", &[console]);
    }
    let badged = Row {
        badge: 7,
        ..Row::of(cap("endpoint"), RAW)
    };
    refused(
        smoke,
        "a badge for the whole endpoint",
        "x",
        "child",
        &[badged],
    );
    let twice = [Row::of(reader, MOVE), Row::of(reader, MOVE).named("again")];
    refused(smoke, "moved twice", "x", "child", &twice);
    refused(
        smoke,
        "moved to nobody",
        "x",
        "nobody",
        &[Row::of(reader, MOVE)],
    );
    let and_wrong = [Row::of(reader, MOVE), Row::kernel(999).named("wrong")];
    refused(
        smoke,
        "moved beside what is wrong",
        "x",
        "child",
        &and_wrong,
    );
    // It is still there after all that.
    let is_held = reader.call(3, &[]).is_ok();
    smoke.check("nothing that was to be moved is lost", is_held);
    smoke.check("it is released", reader.release() == 0);
}

fn badges(smoke: &mut Smoke) {
    let grants = [Grant::Kernel("own", KernelSource::Endpoint)];
    let Ok(made) = child("park", &grants) else {
        smoke.check("a child with an endpoint", false);
        return;
    };
    let own = cap("endpoint");
    let badged = spawn(
        cap("process_spawner"),
        "x",
        "child",
        &[Grant::Client("ep", own, 5)],
    );
    smoke.check(
        "a client with a badge",
        badged.is_ok_and(|child| child.terminate().is_ok()),
    );
    let client = made.clients.first().copied().unwrap_or(Cap(u32::MAX));
    let serves = Row {
        mode: 3,
        ..Row::of(client, RAW)
    };
    refused(smoke, "a client that would serve", "x", "child", &[serves]);
    let given = child("child", &[Grant::Client("ep", client, 6)]);
    smoke.check(
        "a badge by who had the endpoint made",
        given.is_ok_and(|child| child.terminate().is_ok()),
    );
    smoke.check(
        "the child is ended",
        made.terminate().is_ok() && made.wait() == Ok(-1),
    );
    rebadged(smoke);
}

/// A client that has a badge is passed on with it alone.
fn rebadged(smoke: &mut Smoke) {
    let mut row = Row::kernel(KernelSource::Endpoint.ordinal());
    row.badge = 3;
    let made = asked(&message("x", "child", &[row.named("role:park")]));
    let caps = made.map(|answer| answer.caps).unwrap_or_default();
    let &[handle, _, client] = caps.as_slice() else {
        smoke.check("a child with an endpoint and a badge", false);
        return;
    };
    let other = Row {
        badge: 4,
        ..Row::of(client, CLIENT)
    };
    refused(smoke, "another badge", "x", "child", &[other]);
    let same = child("child", &[Grant::Client("ep", client, 3)]);
    smoke.check(
        "its own badge",
        same.is_ok_and(|child| child.terminate().is_ok()),
    );
    smoke.check("that child is ended", handle.call(1, &[]).is_ok());
}

fn broken(smoke: &mut Smoke) {
    for file in BROKEN {
        let Ok(memory) = object(1) else {
            smoke.check("an object", false);
            return;
        };
        refused(smoke, file, "x", file, &[Row::of(memory, MOVE)]);
        smoke.check(
            "what was moved to it is still held",
            memory.call(0, &[]).is_ok(),
        );
        smoke.check("and released", memory.release() == 0);
    }
}

fn messages(smoke: &mut Smoke) {
    let role = [Row::kernel(KernelSource::Null.ordinal()).named("role:exit7")];
    let whole = message("x", "child", &role);
    for length in (0..whole.len()).step_by(8) {
        let answer = asked(whole.get(..length).unwrap_or_default());
        if !smoke.check("a message that was cut is refused", answer.is_err()) {
            smoke.say(&format!("{length} of {}", whole.len()));
        }
    }
    for at in 0..whole.len() / 8 {
        // A pointer to somewhere else, or a name of other bytes: refused, or a process like any other.
        let mut wrong = whole.clone();
        wrong[at * 8..at * 8 + 8].copy_from_slice(&0x7fff_fffd_7fff_fffd_u64.to_le_bytes());
        let done = asked(&wrong).map(|answer| answer.caps);
        let is_over = done.map_or(true, |caps| {
            caps.first()
                .is_some_and(|handle| handle.call(0, &[]).is_ok())
        });
        smoke.check("a message that was changed does no harm", is_over);
    }
    let many = |count: usize| -> Vec<Row> {
        let row = |number| Row::kernel(KernelSource::Null.ordinal()).named(&format!("n{number}"));
        (0..count).map(row).collect()
    };
    for count in [86, 1000, 3000] {
        refused(
            smoke,
            "more than a process is told of",
            "x",
            "child",
            &many(count),
        );
    }
    let most = asked(&message("x", "child", &many(85)));
    let ended = most.map(|answer| {
        answer
            .caps
            .first()
            .is_some_and(|handle| handle.call(0, &[]).is_ok())
    });
    smoke.check("as many as it is told of", ended == Ok(true));
}

/// Results that the caller has no room for: nothing begins, and what was to be moved stays.
fn room(smoke: &mut Smoke) {
    let Some((reader, writer)) = pipe(64) else {
        smoke.check("a pipe", false);
        return;
    };
    // It would fill the pipe.
    let role = Grant::Kernel("role:write", KernelSource::Null);
    let params = spawn_message("x", "child", &[role, Grant::Move("pipe", writer)]);
    let mut result = vec![0_u8; 64];
    for length in [0, 8, 16, 40] {
        let sqe = Sqe {
            opcode: op::CALL,
            cap_id: cap("process_spawner").0,
            user_data: ring::number(),
            addr: params.as_ptr() as u64,
            len: params.len() as u32,
            result_addr: if length == 0 {
                0
            } else {
                result.as_mut_ptr() as u64
            },
            result_len: length,
            ..Sqe::default()
        };
        let found = ring::run(&sqe).result;
        smoke.check("results without room", found == error::RESULT);
        sleep(3);
        let written = writer.call(1, &data_message(b"mine")).is_ok();
        smoke.check("what was to be moved is still held", written);
        let read = reader.numbers(0, &[64]).map(|answer| answer.data(0));
        smoke.check("nothing has begun", read.is_ok_and(|data| data == *b"mine"));
    }
    let released = reader.release() == 0 && writer.release() == 0;
    smoke.check("the pipe is released", released);
}

/// A process that makes one like itself, so many times; its code is how deep it came.
fn nest(depth: usize) -> i64 {
    if depth == 0 {
        return 0;
    }
    let name = format!("nest:{}", depth - 1);
    let grants = [
        Grant::Kernel("process_spawner", KernelSource::ProcessSpawner),
        Grant::Kernel(&name, KernelSource::Null),
    ];
    let made = spawn(cap("process_spawner"), "nest", "spawn", &grants);
    made.and_then(|child| child.wait())
        .map_or(-100, |code| code + 1)
}

fn main() -> i64 {
    let depth = (0..=DEPTH).find(|depth| held(&format!("nest:{depth}")).is_some());
    if let Some(depth) = depth {
        return nest(depth);
    }
    let Some(mut smoke) = Smoke::begin("spawn") else {
        return 2;
    };
    names(&mut smoke);
    sources(&mut smoke);
    held_ones(&mut smoke);
    badges(&mut smoke);
    broken(&mut smoke);
    messages(&mut smoke);
    room(&mut smoke);
    smoke.check("processes make processes", nest(DEPTH) == DEPTH as i64);
    let grants = [Grant::Kernel("role:exit7", KernelSource::Null)];
    let after = spawn(cap("process_spawner"), "x", "child", &grants);
    smoke.check(
        "after all that",
        after.and_then(|child| child.wait()) == Ok(7),
    );
    smoke.end()
}
