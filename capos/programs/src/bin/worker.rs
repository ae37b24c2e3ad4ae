//! A worker of the scaling proof: its part of the primes, timed by the processor's own counter, with no
//! system call in the timed part.
#![no_std]
#![no_main]

extern crate alloc;

use bailiwick_capos_core::message::Message;
use bailiwick_capos_core::work;
use bailiwick_capos_rt::call::numbers_message;
use bailiwick_capos_rt::{entry, held, sys};

entry!(main);

fn main() -> i64 {
    let Some(gate) = held("gate") else {
        return 2;
    };
    let Ok(part) = gate.call(0, &numbers_message(&[0])) else {
        return 3;
    };
    let message = Message::parse(&part.bytes);
    let Some(root) = message.as_ref().ok().and_then(|m| m.root().ok()) else {
        return 4;
    };
    let (from, to) = (root.u64(0) as u32, root.u64(8) as u32);
    let began = sys::ticks();
    let (count, sum) = work::primes(from, to);
    let took = sys::ticks() - began;
    match gate.call(1, &numbers_message(&[count, sum, took])) {
        Ok(_) => 0,
        Err(_) => 5,
    }
}
