//! Quotas: what a process may not have is refused when it is asked for; others are not touched by that, and
//! what was given back can be had again.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::layout;
use bailiwick_capos_programs::memory::{PAGE, RESERVE, UNMAP, object, space};
use bailiwick_capos_programs::{
    OVERLOADED, Smoke, cap, child, child_of, data_message, outcome, pipe, sleep,
};
use bailiwick_capos_rt::call::{Call, Cap, numbers_message};
use bailiwick_capos_rt::caps::{Child, Grant};
use bailiwick_capos_rt::{entry, held, sys};

entry!(main);

/// What a call has that worked and whose result found no place in the table.
const ABORTED: i32 = bailiwick_capos_core::ring::error::ABORTED;

fn release(all: Vec<Cap>) -> bool {
    all.into_iter().all(|cap| cap.release() == 0)
}

fn capabilities(smoke: &mut Smoke) {
    for _ in 0..2 {
        let mut all = Vec::new();
        let refused = loop {
            match object(1) {
                Ok(cap) if all.len() <= layout::CAP_SLOTS => all.push(cap),
                other => break outcome(&other),
            }
        };
        if !smoke.check("a full table is refused", refused == ABORTED) {
            smoke.say(&alloc::format!("by {refused}"));
        }
        let is_most = all.len() < layout::CAP_SLOTS && all.len() > layout::CAP_SLOTS - 20;
        smoke.check("as many as there are slots", is_most);
        smoke.check("all are released", release(all));
    }
}

fn frames(smoke: &mut Smoke) {
    for _ in 0..2 {
        let all: Result<Vec<Cap>, _> = (0..4).map(|_| object(layout::FRAMES as u64 / 4)).collect();
        smoke.check("as many frames as it may have", all.is_ok());
        smoke.check("one more is refused", outcome(&object(1)) == OVERLOADED);
        smoke.check("all are released", release(all.unwrap_or_default()));
    }
    let too_many = object(layout::FRAMES as u64 + 1);
    smoke.check("too many at once", outcome(&too_many) == OVERLOADED);
}

fn reserved(smoke: &mut Smoke) {
    let all = layout::RESERVED_PAGES as u64 * PAGE;
    for _ in 0..2 {
        let at = space(RESERVE, &[0, all]);
        smoke.check("as many pages as it may reserve", at.is_ok());
        let more = space(RESERVE, &[0, PAGE]);
        smoke.check("one more is refused", outcome(&more) == OVERLOADED);
        let undone = space(UNMAP, &[at.unwrap_or_default(), all]);
        smoke.check("all are given back", undone.is_ok());
    }
}

fn sleepers(smoke: &mut Smoke) {
    let begin = |nanoseconds: u64| cap("timer").begin(1, &numbers_message(&[nanoseconds]), &[]);
    for _ in 0..2 {
        let all: Vec<Call> = (0..layout::SLEEPERS).map(|_| begin(20_000_000)).collect();
        sys::enter(0, 0);
        smoke.check(
            "one sleep more is refused",
            outcome(&begin(1).wait()) == OVERLOADED,
        );
        let all_end = all.into_iter().all(|call| call.wait().is_ok());
        smoke.check("the others end", all_end);
    }
}

/// Pipes of the largest size until one is refused: how many, and why no more.
fn pipes() -> (Vec<Cap>, i32) {
    let mut all = Vec::new();
    loop {
        let made = cap("process_spawner").numbers(1, &[64 * 1024]);
        match made {
            Ok(answer) if all.len() < 100 => all.extend(answer.caps),
            other => return (all, outcome(&other)),
        }
    }
}

fn pipe_buffers(smoke: &mut Smoke) {
    for _ in 0..2 {
        let (all, refused) = pipes();
        smoke.check("pipes without end are refused", refused == OVERLOADED);
        smoke.check(
            "as many as it may have",
            all.len() == 2 * layout::PIPES / (64 * 1024),
        );
        smoke.check("all are released", release(all));
    }
}

fn pipe_writes(smoke: &mut Smoke) {
    for _ in 0..2 {
        let Some((reader, writer)) = pipe(64 * 1024) else {
            smoke.check("a pipe", false);
            return;
        };
        let data = data_message(&[1; 60 * 1024]);
        // The first fills the buffer to some bytes, which the second takes; the others wait.
        let waiting: Vec<Call> = (0..6).map(|_| writer.begin(1, &data, &[])).collect();
        sys::enter(0, 0);
        let one_more = outcome(&writer.call(1, &data));
        smoke.check(
            "writes that wait without end are refused",
            one_more == OVERLOADED,
        );
        smoke.check("nobody reads any more", reader.release() == 0);
        let ended = waiting.into_iter().map(Call::wait);
        let ended: Vec<_> = ended.collect();
        smoke.check("all have an answer", ended.len() == 6);
        smoke.check(
            "two were written",
            ended.iter().filter(|answer| answer.is_ok()).count() == 2,
        );
        smoke.check("the writer's end is released", writer.release() == 0);
    }
}

/// Children that have as many pipes as they may, until the machine has no room for more: nobody else is
/// hurt, and it is all given back.
fn kept_by_all(smoke: &mut Smoke) {
    let spawner = [
        Grant::Kernel("process_spawner", KernelSource::ProcessSpawner),
        Grant::Kernel("filler", KernelSource::Null),
    ];
    let all: Vec<_> = (0..6)
        .map(|_| child_of("quota", "fills", &spawner))
        .collect();
    let codes: Vec<_> = all
        .into_iter()
        .map(|made| made.and_then(|child| child.wait()))
        .collect();
    let pipes_each = (layout::PIPES / (64 * 1024)) as i64;
    let is_sound =
        |code: &Result<i64, _>| matches!(code, Ok(count) if (0..=pipes_each).contains(count));
    smoke.check(
        "each has what it may have, or what there is",
        codes.iter().all(is_sound),
    );
    smoke.check("some have some", codes.contains(&Ok(pipes_each)));
    smoke.check(
        "a pipe can be had afterwards",
        pipe(64 * 1024).is_some_and(|(a, b)| release([a, b].into())),
    );
}

fn fills() -> i64 {
    let (all, refused) = pipes();
    sleep(30);
    match refused {
        OVERLOADED => all.len() as i64 / 2,
        _ => -7,
    }
}

/// A pipe of one byte at whose ends many have waited, one of which is left.
fn fat_pipe() -> Option<Cap> {
    let (reader, writer) = pipe(1)?;
    let waits = |end: &Cap, method, message: &[u8]| -> Vec<Call> {
        (0..30).map(|_| end.begin(method, message, &[])).collect()
    };
    let writes = waits(&writer, 1, &data_message(&[1]));
    sys::enter(0, 0);
    for _ in 0..30 {
        reader.call(0, &numbers_message(&[1])).ok()?;
    }
    let reads = waits(&reader, 0, &numbers_message(&[1]));
    sys::enter(0, 0);
    writer.call(2, &[]).ok()?;
    let have_ended = writes
        .into_iter()
        .chain(reads)
        .all(|call| call.wait().is_ok());
    writer.release();
    have_ended.then_some(reader)
}

fn hoards() -> i64 {
    let mut all = Vec::new();
    while all.len() < layout::CAP_SLOTS {
        match fat_pipe() {
            Some(reader) => all.push(reader),
            None => break,
        }
    }
    sleep(50_000);
    0
}

/// Children that have the kernel keep as much for them as they can: it refuses them, or has room, and says so
/// to nobody else.
fn hoarders(smoke: &mut Smoke) {
    let spawner = [
        Grant::Kernel("process_spawner", KernelSource::ProcessSpawner),
        Grant::Kernel("hoarder", KernelSource::Null),
    ];
    let all: Vec<_> = (0..8)
        .filter_map(|_| child_of("quota", "hoards", &spawner).ok())
        .collect();
    smoke.check("children that hoard", all.len() == 8);
    sleep(2000);
    let ended = all
        .iter()
        .all(|child| child.terminate().is_ok() && child.wait() == Ok(-1));
    smoke.check("they are ended", ended);
    let caps = all
        .into_iter()
        .flat_map(|child| [child.handle, child.manager]);
    smoke.check("and let go of", release(caps.collect()));
}

fn processes(smoke: &mut Smoke) {
    for _ in 0..2 {
        let mut all: Vec<Child> = Vec::new();
        let refused = loop {
            match child("park", &[]) {
                Ok(made) if all.len() <= layout::PROCESSES => all.push(made),
                other => break outcome(&other),
            }
        };
        smoke.check("processes without end are refused", refused == OVERLOADED);
        smoke.check(
            "as many as there may be",
            all.len() == layout::PROCESSES - 1,
        );
        let ended = all
            .iter()
            .all(|child| child.terminate().is_ok() && child.wait() == Ok(-1));
        smoke.check("all are ended", ended);
        let caps = all
            .into_iter()
            .flat_map(|child| [child.handle, child.manager]);
        smoke.check("and let go of", release(caps.collect()));
    }
}

fn main() -> i64 {
    if held("filler").is_some() {
        return fills();
    }
    if held("hoarder").is_some() {
        return hoards();
    }
    let Some(mut smoke) = Smoke::begin("quota") else {
        return 2;
    };
    capabilities(&mut smoke);
    frames(&mut smoke);
    reserved(&mut smoke);
    sleepers(&mut smoke);
    pipe_buffers(&mut smoke);
    pipe_writes(&mut smoke);
    kept_by_all(&mut smoke);
    hoarders(&mut smoke);
    processes(&mut smoke);
    let after = child("exit7", &[]);
    smoke.check(
        "after all that",
        after.and_then(|child| child.wait()) == Ok(7),
    );
    smoke.end()
}
