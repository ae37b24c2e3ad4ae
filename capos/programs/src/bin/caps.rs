//! Capabilities on their way, and taken back: what is moved is held by one, what is copied by two; who
//! manages a process sees what it holds and revokes it, at once and for good. The program is its own child.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::string::String;
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces::{self, KernelSource};
use bailiwick_capos_core::message::Message;
use bailiwick_capos_core::ring::{Mode, Transfer, error};
use bailiwick_capos_programs::memory::{OBJECT_UNMAP, PAGE, WRITE, map_object, object, word};
use bailiwick_capos_programs::{
    DISCONNECTED, INVALID, Smoke, UNIMPLEMENTED, cap, child_of, data_message, outcome, pipe, sleep,
};
use bailiwick_capos_rt::call::{Answer, Cap, Failed, numbers_message};
use bailiwick_capos_rt::caps::{Child, Grant};
use bailiwick_capos_rt::{entry, held, sys};
use core::sync::atomic::Ordering;

entry!(main);

/// How often a capability goes to another process and back.
const ROUNDS: u32 = 200;
/// Frames of the memory that a child sends: 4 MiB.
const FRAMES: u64 = 1024;
/// What the child answers with when what it called was refused by the kernel as not held.
const NOT_HELD: i64 = 40;

fn moved(cap: Cap) -> [Transfer; 1] {
    [Transfer {
        cap_id: cap.0,
        mode: Mode::Move,
    }]
}

fn copied(cap: Cap) -> [Transfer; 1] {
    [Transfer {
        cap_id: cap.0,
        mode: Mode::Copy,
    }]
}

fn is_held(cap: Cap) -> bool {
    outcome(&cap.call(0, &[])) != error::INVOKE
}

fn child(role: &str, more: &[Grant<'_>]) -> Option<Child> {
    child_of("caps", role, more).ok()
}

fn call_with(ep: Cap, transfers: &[Transfer]) -> Result<Answer, Failed> {
    ep.begin(0, &numbers_message(&[1]), transfers).wait()
}

/// The child's part.
fn as_child(role: &str) -> i64 {
    match role {
        // Gives back, by move, what it gets by move, as often as it is asked.
        "returns" => {
            for _ in 0..ROUNDS {
                let Ok(call) = cap("serves").receive() else {
                    return 1;
                };
                let [given] = call.caps[..] else {
                    return 2;
                };
                cap("serves").answer(call.call, &numbers_message(&[2]), &moved(given));
                if is_held(given) {
                    return 3;
                }
            }
            0
        }
        // Keeps what it is given, and adds to the word in it, until it is told to end.
        "counts" => {
            let Ok(call) = cap("serves").receive() else {
                return 1;
            };
            let Some(at) = call
                .caps
                .first()
                .and_then(|m| map_object(*m, 0, 1, WRITE).ok())
            else {
                return 2;
            };
            let count = word(at).fetch_add(1, Ordering::AcqRel);
            cap("serves").answer(call.call, &numbers_message(&[count.into()]), &[]);
            0
        }
        // Uses what it was given until that is taken away; then it takes the slot for something else, and
        // tries again.
        "uses" => {
            let given = cap("given");
            loop {
                match outcome(&given.call(3, &[])) {
                    0 => sleep(1),
                    error::INVOKE => break,
                    _ => return 1,
                }
            }
            let others: Vec<_> = (0..8).filter_map(|_| object(1).ok()).collect();
            match others.len() == 8 && !is_held(given) {
                true => NOT_HELD,
                false => 2,
            }
        }
        // Counts in the memory that it holds, for as long as it reaches it.
        "maps" => {
            let Ok(at) = map_object(cap("given"), 0, 1, WRITE) else {
                return 1;
            };
            loop {
                word(at).fetch_add(1, Ordering::AcqRel);
            }
        }
        // Serves until it may no longer.
        "serves" => loop {
            match cap("serves").receive() {
                Ok(call) => {
                    cap("serves").answer(call.call, &numbers_message(&[7]), &[]);
                }
                Err(_) => return NOT_HELD,
            }
        },
        // Reads of a pipe to its end.
        "reads" => {
            let read = cap("given").begin(0, &numbers_message(&[16]), &[]);
            sys::enter(0, 0);
            let is_ready = cap("ready").call(1, &data_message(b"r")).is_ok();
            let read = read.wait();
            let again = outcome(&cap("given").numbers(0, &[16]));
            match read {
                Ok(answer) if answer.data(0) == *b"late" && again == error::INVOKE && is_ready => {
                    NOT_HELD
                }
                _ => 1,
            }
        }
        // Calls somebody who never receives, with memory beside it, and ends; it may hold what it has called
        // by, or not.
        "leaves" | "leaves-all" => {
            let Ok(memory) = object(FRAMES) else {
                return 1;
            };
            let calls = [(); 4].map(|()| cap("ep").begin(0, &[], &copied(memory)));
            let read = cap("given").begin(0, &numbers_message(&[16]), &[]);
            sys::enter(0, 0);
            core::mem::forget((calls, read));
            let is_released = role == "leaves" || cap("ep").release() | cap("given").release() == 0;
            i64::from(!is_released)
        }
        // Has what it was given on its way to itself, where nobody gets hold of it.
        "hides" => {
            let call = cap("own").begin(0, &numbers_message(&[1]), &moved(cap("given")));
            sys::enter(0, 0);
            let is_ready = cap("ready").call(1, &data_message(b"r")).is_ok();
            if !is_ready || cap("go").numbers(0, &[1]).is_err() {
                return 3;
            }
            let receive = cap("own").begin_receive();
            sys::enter(0, 0);
            let answer = call.poll().map_err(drop);
            match (receive.poll(), answer) {
                // It waits on for another call, which nobody makes.
                (Err(receive), Ok(Err(failed))) if failed.code == error::ABORTED => {
                    core::mem::forget(receive);
                    NOT_HELD
                }
                (Ok(Ok(_)), _) => 1,
                _ => 2,
            }
        }
        "benches" => benches().map_or_else(|step| step, |()| 0),
        _ => 98,
    }
}

/// Waits that are calls: woken in their order, as many as are to be, and by nobody where nobody can.
fn benches() -> Result<(), i64> {
    let bench = cap("bench");
    let wake = |most| bench.numbers(1, &[most]).map(|answer| answer.u64(0));
    let is = |holds: bool, step| holds.then_some(()).ok_or(step);
    is(wake(1) == Ok(0), 10)?;
    let [first, second, third, last] = [(); 4].map(|()| bench.begin(0, &[], &[]));
    is(wake(2) == Ok(2), 11)?;
    is(first.wait().is_ok() && second.wait().is_ok(), 12)?;
    let Err(third) = third.poll() else {
        return Err(13);
    };
    is(wake(1) == Ok(1) && third.wait().is_ok(), 14)?;
    is(bench.release() == 0, 15)?;
    is(outcome(&last.wait()) == DISCONNECTED, 16)
}

fn moves(smoke: &mut Smoke) {
    let ep = cap("endpoint");
    let Some(other) = child("returns", &[Grant::Copy("serves", ep)]) else {
        smoke.check("a child", false);
        return;
    };
    let Some((mut reader, writer)) = pipe(64) else {
        smoke.check("a pipe", false);
        return;
    };
    let mut is_well = true;
    for _ in 0..ROUNDS {
        let answer = call_with(ep, &moved(reader));
        let back = answer.ok().and_then(|answer| answer.caps.first().copied());
        is_well &= back.is_some() && !is_held(reader);
        reader = back.unwrap_or(reader);
    }
    smoke.check("it comes back, and is held by one at a time", is_well);
    smoke.check("the other ends well", other.wait() == Ok(0));
    let written = writer.call(1, &data_message(b"whole")).is_ok();
    let read = reader.numbers(0, &[16]).map(|answer| answer.data(0));
    smoke.check(
        "it is what it was",
        written && read.is_ok_and(|d| d == *b"whole"),
    );
    smoke.check(
        "all is released",
        reader.release() == 0 && writer.release() == 0 && reader.release() != 0,
    );
    ended(smoke, &other);
}

/// Memory that is copied to one process after another is the same memory.
fn copies(smoke: &mut Smoke) {
    let ep = cap("endpoint");
    let Ok(memory) = object(1) else {
        smoke.check("memory", false);
        return;
    };
    let at = map_object(memory, 0, 1, WRITE).unwrap_or_default();
    for round in 0..4_u32 {
        let Some(other) = child("counts", &[Grant::Copy("serves", ep)]) else {
            smoke.check("a child", false);
            return;
        };
        let answer = call_with(ep, &copied(memory)).map(|answer| answer.u64(0));
        smoke.check("a copy is the same", answer == Ok(round.into()));
        smoke.check("and is still held", is_held(memory));
        smoke.check("the holder of the copy ends", other.wait() == Ok(0));
        ended(smoke, &other);
    }
    smoke.check("the word", word(at).load(Ordering::Acquire) == 4);
    smoke.check("it is released", memory.release() == 0);
    smoke.check(
        "what is mapped stays",
        word(at).load(Ordering::Acquire) == 4,
    );
}

/// What a manager lists: ids, interfaces, labels.
fn listed(manager: Cap) -> Vec<(u32, u64, String)> {
    let Ok(answer) = manager.call(0, &[]) else {
        return Vec::new();
    };
    let rows = Message::parse(&answer.bytes).and_then(|message| {
        let list = message.root()?.list(0)?;
        list.iter()
            .map(|row| Ok((row.u32(0), row.u64(8), row.text(0)?.into())))
            .collect::<Result<Vec<_>, _>>()
    });
    rows.unwrap_or_default()
}

fn id_of(manager: Cap, interface: interfaces::Interface) -> u32 {
    let all = listed(manager);
    let mut found = all.iter().filter(|(_, other, _)| *other == interface.id);
    match (found.next(), found.next()) {
        (Some((id, ..)), None) => *id,
        _ => u32::MAX,
    }
}

/// The first id by which a process holds what is called so.
fn id_by_label(manager: Cap, label: &str) -> u32 {
    let all = listed(manager);
    let found = all.iter().find(|(_, _, other)| other == label);
    found.map_or(u32::MAX, |(id, ..)| *id)
}

fn revoke(manager: Cap, id: u32) -> i32 {
    outcome(&manager.numbers(1, &[id.into()]))
}

fn revokes(smoke: &mut Smoke) {
    let Some((reader, writer)) = pipe(64) else {
        smoke.check("a pipe", false);
        return;
    };
    let Some(other) = child("uses", &[Grant::Copy("given", writer)]) else {
        smoke.check("a child", false);
        return;
    };
    let manager = other.manager;
    let all = listed(manager);
    // What every child has, its role, and what it was given.
    smoke.check("all that it holds is listed", all.len() == 9);
    let names = all.iter().filter(|(_, _, label)| label == "pipe to write");
    smoke.check("by what it is", names.count() == 1);
    let id = id_of(manager, interfaces::PIPE);
    sleep(5);
    smoke.check("what it never had", revoke(manager, u32::MAX) == INVALID);
    smoke.check(
        "there is no other method",
        outcome(&manager.call(2, &[])) == UNIMPLEMENTED,
    );
    smoke.check(
        "a message that is none",
        outcome(&manager.call(1, &[1; 4])) != 0,
    );
    smoke.check("it is taken away", revoke(manager, id) == 0);
    smoke.check("once", revoke(manager, id) != 0);
    smoke.check("its holder notices", other.wait() == Ok(NOT_HELD));
    smoke.check(
        "who gave it still has it",
        outcome(&writer.call(3, &[])) == 0,
    );
    smoke.check(
        "nothing is listed of who has ended",
        outcome(&manager.call(0, &[])) == DISCONNECTED && revoke(manager, 0) == DISCONNECTED,
    );
    smoke.check(
        "a manager is not passed on",
        child("uses", &[Grant::Copy("given", manager)]).is_none(),
    );
    smoke.check(
        "the pipe is released",
        reader.release() == 0 && writer.release() == 0,
    );
    ended(smoke, &other);
}

/// What ended processes were waiting for is forgotten where it waits, and what they had sent is given back:
/// all of it together is more than the machine has.
fn leftovers(smoke: &mut Smoke) {
    let ep = cap("endpoint");
    let Some((reader, writer)) = pipe(64) else {
        smoke.check("a pipe", false);
        return;
    };
    for number in 0..40 {
        let role = ["leaves", "leaves-all"][number % 2];
        let grants = [Grant::Client("ep", ep, 0), Grant::Copy("given", reader)];
        let Some(other) = child(role, &grants) else {
            smoke.check("there is memory for the next one", false);
            return;
        };
        smoke.check("it ends with calls under way", other.wait() == Ok(0));
        ended(smoke, &other);
    }
    let written = writer.call(1, &data_message(b"mine")).is_ok();
    let read = reader.numbers(0, &[16]).map(|answer| answer.data(0));
    smoke.check(
        "nobody who has ended reads",
        written && read.is_ok_and(|data| data == *b"mine"),
    );
    smoke.check(
        "the pipe is released",
        reader.release() == 0 && writer.release() == 0,
    );
}

/// What is on its way is taken away there.
fn on_its_way(smoke: &mut Smoke) {
    let (Some((reader, writer)), Some((is_ready, ready)), Some((go, goes))) =
        (pipe(64), pipe(1), pipe(1))
    else {
        smoke.check("three pipes", false);
        return;
    };
    let grants = [
        Grant::Copy("given", writer),
        Grant::Copy("ready", ready),
        Grant::Copy("go", go),
        Grant::Kernel("own", KernelSource::Endpoint),
    ];
    let Some(other) = child("hides", &grants) else {
        smoke.check("a child", false);
        return;
    };
    smoke.check("it is on its way", is_ready.numbers(0, &[1]).is_ok());
    let id = id_by_label(other.manager, "pipe to write");
    smoke.check("taken away on its way", revoke(other.manager, id) == 0);
    smoke.check("once", revoke(other.manager, id) != 0);
    smoke.check("it goes on", goes.call(1, &data_message(b"g")).is_ok());
    smoke.check("it does not come back", other.wait() == Ok(NOT_HELD));
    let released = other.clients.iter().all(|client| client.release() == 0);
    let mut pipes = [reader, writer, is_ready, ready, go, goes].into_iter();
    smoke.check(
        "all is released",
        released && pipes.all(|end| end.release() == 0),
    );
    ended(smoke, &other);
}

/// Memory that is taken away is unmapped, once it is held by no other id either.
fn mapped(smoke: &mut Smoke) {
    let Ok(memory) = object(1) else {
        smoke.check("memory", false);
        return;
    };
    let own = map_object(memory, 0, 1, WRITE);
    let grants = [Grant::Copy("given", memory), Grant::Copy("too", memory)];
    let (Ok(at), Some(other)) = (own, child("maps", &grants)) else {
        smoke.check("memory and a child", false);
        return;
    };
    let counts = || {
        let before = word(at).load(Ordering::Acquire);
        (0..1000).any(|_| {
            sleep(1);
            word(at).load(Ordering::Acquire) != before
        })
    };
    smoke.check("it counts", counts());
    let id = || id_by_label(other.manager, "memory object");
    smoke.check("one of two ids", revoke(other.manager, id()) == 0);
    smoke.check("it goes on", counts());
    smoke.check("the other one", revoke(other.manager, id()) == 0);
    smoke.check("it reaches it no more", other.wait() == Ok(-2));
    word(at).store(7, Ordering::Release);
    smoke.check("who gave it does", word(at).load(Ordering::Acquire) == 7);
    let unmapped = memory.numbers(OBJECT_UNMAP, &[at, PAGE]).is_ok();
    smoke.check("it is given back", unmapped && memory.release() == 0);
    ended(smoke, &other);
}

/// Who calls a service learns when it may no longer serve.
fn services(smoke: &mut Smoke) {
    let grants = [Grant::Kernel("serves", KernelSource::Endpoint)];
    let Some(other) = child("serves", &grants) else {
        smoke.check("a child", false);
        return;
    };
    let Some(&client) = other.clients.first() else {
        smoke.check("a client", false);
        return;
    };
    let answer = client.numbers(0, &[1]).map(|answer| answer.u64(0));
    smoke.check("it serves", answer == Ok(7));
    let id = id_of(other.manager, interfaces::ENDPOINT);
    smoke.check("it may no longer", revoke(other.manager, id) == 0);
    smoke.check(
        "who calls is told",
        outcome(&client.numbers(0, &[1])) == DISCONNECTED,
    );
    // It may be waiting for a call, which nobody can make any more.
    let _ = other.terminate();
    smoke.check("it ends", other.wait().is_ok());
    smoke.check("the client is released", client.release() == 0);
    ended(smoke, &other);
}

/// A call that is under way when its capability is taken away comes to its end; there is no other.
fn under_way(smoke: &mut Smoke) {
    let (Some((reader, writer)), Some((is_ready, ready))) = (pipe(64), pipe(1)) else {
        smoke.check("two pipes", false);
        return;
    };
    let grants = [Grant::Copy("given", reader), Grant::Copy("ready", ready)];
    let Some(other) = child("reads", &grants) else {
        smoke.check("a child", false);
        return;
    };
    smoke.check("it reads", is_ready.numbers(0, &[1]).is_ok());
    let id = id_by_label(other.manager, "pipe to read");
    smoke.check("taken away during a read", revoke(other.manager, id) == 0);
    let written = writer.call(1, &data_message(b"late")).is_ok();
    smoke.check("what is read comes", written);
    smoke.check("and no more", other.wait() == Ok(NOT_HELD));
    let mut pipes = [reader, writer, is_ready, ready].into_iter();
    smoke.check(
        "the pipes are released",
        pipes.all(|end| end.release() == 0),
    );
    ended(smoke, &other);
}

fn ended(smoke: &mut Smoke, child: &Child) {
    let gone = child.handle.release() == 0 && child.manager.release() == 0;
    smoke.check("its handle and manager are released", gone);
}

fn main() -> i64 {
    let roles = [
        "maps",
        "returns",
        "counts",
        "uses",
        "serves",
        "reads",
        "benches",
        "leaves",
        "leaves-all",
        "hides",
    ];
    let is_it = |role: &&&str| held(&alloc::format!("role:{role}")).is_some();
    if let Some(role) = roles.iter().find(is_it) {
        sys::exit(as_child(role));
    }
    let Some(mut smoke) = Smoke::begin("caps") else {
        return 2;
    };
    moves(&mut smoke);
    copies(&mut smoke);
    revokes(&mut smoke);
    mapped(&mut smoke);
    services(&mut smoke);
    under_way(&mut smoke);
    leftovers(&mut smoke);
    on_its_way(&mut smoke);
    let grants = [Grant::Kernel("bench", KernelSource::ParkBench)];
    if let Some(other) = child("benches", &grants) {
        smoke.check("waits that are calls", other.wait() == Ok(0));
        ended(&mut smoke, &other);
    }
    smoke.end()
}
