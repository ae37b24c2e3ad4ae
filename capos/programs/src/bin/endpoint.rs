//! Endpoints: calls, answers, capabilities that go along, and what is left when one of the two goes.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::message::Message;
use bailiwick_capos_core::ring::{Mode, Sqe, error, op};
use bailiwick_capos_programs::{
    DISCONNECTED, INVALID, OVERLOADED, Smoke, cap, child, outcome, pipe, sleep, transfer,
};
use bailiwick_capos_rt::call::{Cap, numbers_message};
use bailiwick_capos_rt::caps::{Child, Grant};
use bailiwick_capos_rt::{entry, ring, sys};

entry!(main);

/// A server in a role, with an endpoint of its own, and the side of it that calls.
fn server(role: &str) -> Option<(Child, Cap)> {
    let made = child(role, &[Grant::Kernel("ep", KernelSource::Endpoint)]).ok()?;
    let client = *made.clients.first()?;
    Some((made, client))
}

fn is_closed(end: Cap) -> bool {
    end.call(3, &[]).is_ok_and(|answer| {
        let message = Message::parse(&answer.bytes);
        message.is_ok_and(|m| m.root().is_ok_and(|root| root.bool(0)))
    })
}

fn calls(smoke: &mut Smoke, endpoint: Cap) {
    for number in 0..50 {
        let call = endpoint.begin(3, &numbers_message(&[number]), &[]);
        let received = endpoint.receive();
        let Ok(received) = received else {
            smoke.check("a call is received", false);
            return;
        };
        let params = numbers_message(&[number]);
        smoke.check(
            "as it was made",
            received.params == params && received.method == 3,
        );
        let answered = endpoint.answer(received.call, &numbers_message(&[number * 2]), &[]);
        smoke.check("it is answered", answered == 0);
        smoke.check(
            "once",
            endpoint.answer(received.call, &[], &[]) == error::INVALID,
        );
        smoke.check(
            "the answer comes",
            call.wait().is_ok_and(|a| a.u64(0) == number * 2),
        );
    }
    let waiting = endpoint.begin_receive();
    let call = endpoint.begin(4, &[], &[]);
    sys::enter(0, 0);
    smoke.check("a receive before its call", waiting.wait().is_ok());
    let raised = bailiwick_capos_core::exception::write(
        bailiwick_capos_core::exception::Kind::InvalidArgument,
        "no",
    );
    // The number of a call counts those that the process has received.
    smoke.check(
        "a call is answered by an exception",
        (1..200).any(|n| endpoint.answer_exception(n, &raised) == 0),
    );
    smoke.check("which comes", outcome(&call.wait()) == INVALID);
    let receive = Sqe {
        opcode: op::RECV,
        cap_id: endpoint.0,
        user_data: 1 << 40,
        ..Sqe::default()
    };
    ring::submit(&receive);
    let cancel = Sqe {
        opcode: op::CANCEL,
        cap_id: endpoint.0,
        pipeline_dep: 1 << 40,
        user_data: ring::number(),
        ..Sqe::default()
    };
    smoke.check("a receive is taken back", ring::run(&cancel).result == 0);
    smoke.check("and ends", ring::wait(1 << 40).result < 0);
    let again = Sqe {
        user_data: ring::number(),
        ..cancel
    };
    smoke.check("once", ring::run(&again).result == error::INVALID);
    let small = Sqe {
        user_data: ring::number(),
        result_addr: 0,
        result_len: 0,
        ..receive
    };
    let call = endpoint.begin(4, &numbers_message(&[8]), &[]);
    smoke.check(
        "a receive without room fails",
        ring::run(&small).result == error::RESULT,
    );
    let kept = endpoint.receive();
    smoke.check(
        "its call waits on",
        kept.as_ref().is_ok_and(|c| c.params.len() == 24),
    );
    smoke.check(
        "and is answered",
        kept.map(|c| endpoint.answer(c.call, &[], &[])) == Ok(0),
    );
    smoke.check("well", call.wait().is_ok());
}

/// A capability of each kind of passing on arrives once.
fn transfers(smoke: &mut Smoke, endpoint: Cap) {
    let send = |cap: Cap, mode| endpoint.begin(1, &numbers_message(&[1]), &[transfer(cap, mode)]);
    let console = send(cap("console"), Mode::Copy);
    smoke.check(
        "a console is not passed on",
        outcome(&console.wait()) == error::TRANSFER,
    );
    let Some((reads, writes)) = pipe(16) else {
        smoke.check("a pipe is made", false);
        return;
    };
    // A copy: both have it.
    let call = send(writes, Mode::Copy);
    let copy = endpoint.receive().map(|c| (c.call, c.caps));
    if let Ok((number, caps)) = copy {
        smoke.check("a copy arrives", caps.len() == 1 && caps != [writes]);
        smoke.check(
            "it is answered",
            endpoint.answer(number, &[], &[]) == 0 && call.wait().is_ok(),
        );
        smoke.check(
            "both let go of it",
            caps.iter().all(|c| c.release() == 0) && !is_closed(reads),
        );
    }
    // A move: it is the receiver's, and comes back by the answer.
    let mut writes = writes;
    for _ in 0..20 {
        let call = send(writes, Mode::Move);
        sys::enter(0, 0);
        smoke.check(
            "what is on its way is nobody's",
            writes.release() == error::INVALID,
        );
        let Ok(received) = endpoint.receive() else {
            smoke.check("a move arrives", false);
            return;
        };
        smoke.check("one arrives", received.caps.len() == 1);
        smoke.check(
            "which is no longer the sender's",
            outcome(&writes.call(3, &[])) == error::INVOKE,
        );
        let Some(moved) = received.caps.first() else {
            return;
        };
        let back = [transfer(*moved, Mode::Move)];
        smoke.check(
            "it goes back",
            endpoint.answer(received.call, &numbers_message(&[0]), &back) == 0,
        );
        smoke.check("and is not the server's", moved.release() == error::INVALID);
        let answer = call.wait();
        smoke.check(
            "it is back",
            answer.as_ref().is_ok_and(|a| a.caps.len() == 1),
        );
        let Some(back) = answer.ok().and_then(|a| a.caps.first().copied()) else {
            return;
        };
        writes = back;
        smoke.check("the pipe is open", !is_closed(reads));
    }
    // Twice in one call is once too often, and undone.
    let twice = [transfer(writes, Mode::Move), transfer(writes, Mode::Move)];
    let refused = endpoint.begin(1, &numbers_message(&[1]), &twice).wait();
    smoke.check(
        "one capability is not moved twice",
        outcome(&refused) == error::INVOKE,
    );
    smoke.check("and stays", writes.call(3, &[]).is_ok());
    smoke.check(
        "the last one closes it",
        writes.release() == 0 && is_closed(reads),
    );
    reads.release();
}

/// A receiver whose table is full gets nothing, and the sender keeps what it had.
fn full(smoke: &mut Smoke, endpoint: Cap) {
    let Some((reads, writes)) = pipe(16) else {
        return;
    };
    let kept = cap("frame_allocator");
    let mut filled = Vec::new();
    while let Ok(answer) = kept.call(0, &[]) {
        filled.extend(answer.caps);
    }
    let refused = kept.call(0, &[]);
    smoke.check("the table is full", outcome(&refused) == error::ABORTED);
    for mode in [Mode::Move, Mode::Copy] {
        let receive = endpoint.begin_receive();
        let call = endpoint.begin(1, &numbers_message(&[1]), &[transfer(writes, mode)]);
        sys::enter(0, 0);
        smoke.check(
            "the receiver has no room",
            outcome(&receive.wait()) == error::ABORTED,
        );
        smoke.check(
            "the sender is told",
            outcome(&call.wait()) == error::ABORTED,
        );
        smoke.check(
            "it has what it had",
            writes.call(3, &[]).is_ok() && !is_closed(reads),
        );
    }
    // The same with an answer.
    let call = endpoint.begin(2, &[], &[]);
    let received = endpoint.receive();
    let back = [transfer(writes, Mode::Move)];
    let told = received.map(|c| endpoint.answer(c.call, &numbers_message(&[0]), &back));
    smoke.check("whoever answers is told", told == Ok(error::ABORTED));
    smoke.check(
        "and so is the caller",
        outcome(&call.wait()) == error::ABORTED,
    );
    smoke.check(
        "the server has what it had",
        writes.call(3, &[]).is_ok() && !is_closed(reads),
    );
    let spawned = child("exit7", &[]);
    smoke.check("no process is made", outcome(&spawned) == OVERLOADED);
    for cap in &filled {
        smoke.check("all is let go of", cap.release() == 0);
    }
    smoke.check(
        "the pipe too",
        writes.release() == 0 && is_closed(reads) && reads.release() == 0,
    );
}

/// What is left when one of the two goes.
fn cleanup(smoke: &mut Smoke, endpoint: Cap) {
    let Some((child, client)) = server("serve-and-die") else {
        smoke.check("a server is made", false);
        return;
    };
    let Some((reads, writes)) = pipe(16) else {
        return;
    };
    let calls = [0, 1, 2].map(|n| client.begin(n, &numbers_message(&[1]), &[]));
    let moving = client.begin(9, &numbers_message(&[1]), &[transfer(writes, Mode::Move)]);
    smoke.check("the server ends", child.wait() == Ok(21));
    for call in calls {
        smoke.check(
            "received or not, a call ends with it",
            outcome(&call.wait()) == DISCONNECTED,
        );
    }
    smoke.check(
        "with what it took along",
        outcome(&moving.wait()) == DISCONNECTED,
    );
    smoke.check("which is back", writes.call(3, &[]).is_ok());
    smoke.check(
        "a call to nobody",
        outcome(&client.call(0, &[])) == DISCONNECTED,
    );
    smoke.check("the client is let go of", client.release() == 0);
    if let Some((child, client)) = server("take") {
        let call = client.begin(0, &numbers_message(&[1]), &[transfer(writes, Mode::Move)]);
        smoke.check("a server takes something and ends", child.wait() == Ok(1));
        smoke.check("its caller is told", outcome(&call.wait()) == DISCONNECTED);
        smoke.check(
            "what it took is gone",
            writes.release() == error::INVALID && is_closed(reads),
        );
        client.release();
    }
    reads.release();
    // Callers that end while their calls wait: the server never hears of them.
    for pause in [0, 5] {
        let made = bailiwick_capos_programs::child("call", &[Grant::Client("ep", endpoint, 77)]);
        sleep(pause);
        let ended = made.map(|child| child.terminate().is_ok() && child.wait() == Ok(-1));
        smoke.check("a caller ends", ended == Ok(true));
    }
    let call = endpoint.begin(6, &[], &[]);
    let received = endpoint.receive();
    smoke.check(
        "only a live one's call comes",
        received
            .as_ref()
            .is_ok_and(|c| c.badge == 0 && c.method == 6),
    );
    smoke.check(
        "and is answered",
        received.map(|c| endpoint.answer(c.call, &[], &[])) == Ok(0),
    );
    smoke.check("well", call.wait().is_ok());
    // A server that lets go of its endpoint, and lives.
    for badge in [1, u64::MAX] {
        let made = bailiwick_capos_programs::child("call", &[Grant::Client("ep", endpoint, badge)]);
        let received = endpoint.receive();
        smoke.check(
            "a badge comes with a call",
            received.as_ref().is_ok_and(|c| c.badge == badge),
        );
        let reply = numbers_message(&[40]);
        smoke.check(
            "answered",
            received.map(|c| endpoint.answer(c.call, &reply, &[])) == Ok(0),
        );
        smoke.check(
            "the caller has it",
            made.map(|child| child.wait()) == Ok(Ok(40)),
        );
    }
    let callers = [0; 3]
        .map(|_| bailiwick_capos_programs::child("call", &[Grant::Client("ep", endpoint, 1)]));
    smoke.check("one call is received", endpoint.receive().is_ok());
    sleep(5);
    smoke.check("the endpoint is let go of", endpoint.release() == 0);
    for caller in callers {
        let code = caller.map(|child| child.wait());
        smoke.check("all callers are told", code == Ok(Ok(DISCONNECTED.into())));
    }
}

/// A caller has so many calls under way, and no more.
fn flood(smoke: &mut Smoke, endpoint: Cap) {
    let big = vec![0; 40 * 1024];
    let calls: Vec<_> = (0..6).map(|_| endpoint.begin(0, &big, &[])).collect();
    sys::enter(0, 0);
    let mut refused = 0;
    for _ in 0..6 {
        // Six of 40 KiB are within 256 KiB, one more is not.
        let over = endpoint.begin(0, &big, &[]).wait();
        refused += u32::from(outcome(&over) == OVERLOADED);
    }
    smoke.check("what waits is counted", refused == 6);
    for call in calls {
        let received = endpoint.receive_in(48 * 1024);
        let answered = received.map(|c| endpoint.answer(c.call, &[], &[]));
        smoke.check("and comes", answered == Ok(0) && call.wait().is_ok());
    }
    smoke.check("then there is room", {
        let call = endpoint.begin(0, &[], &[]);
        let received = endpoint.receive();
        received.map(|c| endpoint.answer(c.call, &[], &[])) == Ok(0) && call.wait().is_ok()
    });
}

fn main() -> i64 {
    let Some(mut smoke) = Smoke::begin("endpoint") else {
        return 2;
    };
    let endpoint = cap("endpoint");
    calls(&mut smoke, endpoint);
    transfers(&mut smoke, endpoint);
    full(&mut smoke, endpoint);
    flood(&mut smoke, endpoint);
    cleanup(&mut smoke, endpoint);
    smoke.end()
}
