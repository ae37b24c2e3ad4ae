//! What the default manifest runs: with `serves`, a service that answers numbers with their doubles until it
//! has answered as many calls as it has callers told it; with `service`, a caller that asks it and says on
//! the console what it got; with `fails`, one that ends badly.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::format;
use bailiwick_capos_core::message::Message;
use bailiwick_capos_rt::call::{Cap, numbers_message};
use bailiwick_capos_rt::{entry, held, required};

entry!(main);

/// Calls of each caller.
const CALLS: u64 = 10;

fn serve(endpoint: Cap) -> i64 {
    let mut callers = [0_u64; 2];
    while callers.iter().any(|calls| *calls < CALLS) {
        let Ok(call) = endpoint.receive() else {
            return 1;
        };
        let message = Message::parse(&call.params);
        let number = message.ok().and_then(|m| Some(m.root().ok()?.u64(0)));
        endpoint.answer(
            call.call,
            &numbers_message(&[2 * number.unwrap_or_default()]),
            &[],
        );
        // Who calls is told by the badge, which the manifest has given.
        match (call.badge as usize)
            .checked_sub(1)
            .and_then(|at| callers.get_mut(at))
        {
            Some(calls) => *calls += 1,
            None => return 2,
        }
    }
    0
}

fn main() -> i64 {
    if let Some(endpoint) = held("serves") {
        return serve(endpoint);
    }
    if held("fails").is_some() {
        return 9;
    }
    let mut sum = 0;
    for number in 1..=CALLS {
        match required("service").call(0, &numbers_message(&[number])) {
            Ok(answer) => sum += answer.u64(0),
            Err(_) => return 3,
        }
    }
    let line = format!("service: {CALLS} calls, {sum} in all");
    let told = required("console").write_line(&line);
    i64::from(told.is_err() || sum != CALLS * (CALLS + 1))
}
