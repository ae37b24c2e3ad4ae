//! Processes: who waits for one, when, and what each state that one is ended in leaves behind.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec;
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_programs::memory::{Shared, object};
use bailiwick_capos_programs::{DISCONNECTED, OVERLOADED, Smoke, cap, child, outcome, pipe, sleep};
use bailiwick_capos_rt::caps::Grant;
use bailiwick_capos_rt::{entry, sys};

entry!(main);

fn waits(smoke: &mut Smoke) {
    let before = child("late7", &[]);
    smoke.check(
        "a wait before the end",
        before.map(|child| child.wait()) == Ok(Ok(7)),
    );
    if let Ok(child) = child("exit7", &[]) {
        sleep(10);
        for _ in 0..3 {
            smoke.check("a wait behind the end", child.wait() == Ok(7));
        }
        smoke.check("to end what has ended", child.terminate().is_ok());
        smoke.check("changes nothing", child.wait() == Ok(7));
        smoke.check(
            "its manager knows",
            outcome(&child.manager.call(0, &[])) == DISCONNECTED,
        );
    }
    if let Ok(child) = child("late7", &[]) {
        let first = child.handle.begin(0, &[], &[]);
        sys::enter(0, 0);
        smoke.check("one waits", outcome(&child.wait()) == OVERLOADED);
        smoke.check(
            "and is told",
            first.wait().is_ok_and(|answer| answer.u64(0) == 7),
        );
        smoke.check("then another may", child.wait() == Ok(7));
    }
    if let Ok(child) = child("late7", &[]) {
        let wait = child.handle.begin(0, &[], &[]);
        sys::enter(0, 0);
        smoke.check("a handle is let go of", child.handle.release() == 0);
        smoke.check(
            "whose wait ends with it",
            outcome(&wait.wait()) == DISCONNECTED,
        );
        smoke.check("the process runs on", child.manager.call(0, &[]).is_ok());
    }
    let spawner = [Grant::Kernel("spawner", KernelSource::ProcessSpawner)];
    for _ in 0..5 {
        let parent = child("parent", &spawner);
        smoke.check(
            "a parent ends first",
            parent.map(|child| child.wait()) == Ok(Ok(31)),
        );
    }
}

/// Ends processes in each state; nothing of them may be left, which the kernel counts when all ends.
fn ended(smoke: &mut Smoke) {
    let endpoint = cap("endpoint");
    let memory = object(1);
    let shared = memory.as_ref().ok().copied().and_then(Shared::of);
    let (Ok(memory), Some(shared)) = (memory, shared) else {
        smoke.check("memory", false);
        return;
    };
    for pause in [0, 1, 8] {
        for role in [
            "enter",
            "timed",
            "park",
            "park-timed",
            "sleep",
            "call",
            "receive",
            "read",
            "write",
            "join",
            "spin",
            "spins",
            "hog",
        ] {
            let Some((reads, writes)) = pipe(64) else {
                smoke.check("a pipe is made", false);
                return;
            };
            let mut more = match role {
                "call" => vec![Grant::Client("ep", endpoint, 5)],
                "receive" => vec![Grant::Kernel("ep", KernelSource::Endpoint)],
                "read" => vec![Grant::Copy("pipe", reads)],
                "write" => vec![Grant::Copy("pipe", writes)],
                _ => vec![],
            };
            more.push(Grant::Copy("shared", memory));
            shared.set(0, 0);
            let made = child(role, &more);
            // Without a pause it is ended before it begins, or while it does; else when it waits.
            if pause > 0 {
                let has_begun = (0..2000).any(|_| {
                    sleep(pause);
                    shared.get(0) == 1
                });
                if !smoke.check("it has come to where it waits", has_begun) {
                    smoke.say(role);
                }
                sleep(pause);
            }
            let ended = made.map(|child| {
                let told = child.terminate().is_ok() && child.wait() == Ok(-1);
                let mut gone = child.handle.release() == 0 && child.manager.release() == 0;
                for client in child.clients {
                    gone &= client.release() == 0;
                }
                told && gone
            });
            smoke.check(role, ended == Ok(true));
            smoke.check(
                "its pipe is let go of",
                reads.release() == 0 && writes.release() == 0,
            );
        }
    }
    // A call that was received, and whose caller ends before the answer.
    let made = child("call", &[Grant::Client("ep", endpoint, 5)]);
    let call = endpoint.receive();
    smoke.check(
        "a call is received",
        call.as_ref().is_ok_and(|c| c.badge == 5 && c.method == 7),
    );
    let ended = made.map(|child| child.terminate().is_ok() && child.wait() == Ok(-1));
    smoke.check("its caller ends", ended == Ok(true));
    let answered = call.map(|call| endpoint.answer(call.call, &[], &[]));
    smoke.check("the answer to nobody does no harm", answered == Ok(0));
}

fn main() -> i64 {
    let Some(mut smoke) = Smoke::begin("waits") else {
        return 2;
    };
    waits(&mut smoke);
    ended(&mut smoke);
    smoke.end()
}
