//! The coordinator of the scaling proof: starts as many workers as the kernel counts processors (or as it
//! is told), lets them begin together, verifies what they found, and tells how long the slowest took.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::format;
use alloc::vec::Vec;
use bailiwick_capos_core::message::Message;
use bailiwick_capos_core::work;
use bailiwick_capos_rt::call::{Cap, numbers_message};
use bailiwick_capos_rt::caps::{Grant, spawn};
use bailiwick_capos_rt::{entry, held};

entry!(main);

fn processors(info: Cap) -> Option<usize> {
    let text = info.call(0, &[]).ok()?.text(0);
    text.rsplit_once("cpus=")?.1.parse().ok()
}

fn number(params: &[u8], at: usize) -> u64 {
    let message = Message::parse(params);
    message
        .ok()
        .and_then(|m| Some(m.root().ok()?.u64(at)))
        .unwrap_or_default()
}

fn main() -> i64 {
    let (Some(console), Some(spawner), Some(info), Some(gate)) = (
        held("console"),
        held("process_spawner"),
        held("system_info"),
        held("endpoint"),
    ) else {
        return 2;
    };
    let Some(cpus) = processors(info) else {
        return 3;
    };
    let workers = cpus;
    let Some(cuts) = work::cuts(workers) else {
        let _ = console.write_line("scale: there is no such cut");
        return 4;
    };
    let mut children = Vec::new();
    for worker in 0..workers {
        let grants = [Grant::Client("gate", gate, worker as u64 + 1)];
        match spawn(spawner, &format!("worker-{worker}"), "worker", &grants) {
            Ok(child) => children.push(child),
            Err(_) => return 5,
        }
    }
    // The barrier: who calls is ready; all are answered when all have called.
    let mut ready = Vec::new();
    while ready.len() < workers {
        match gate.receive() {
            Ok(call) => ready.push((call.call, call.badge as usize - 1)),
            Err(_) => return 6,
        }
    }
    for (call, worker) in ready {
        let part = cuts.get(worker).zip(cuts.get(worker + 1));
        let Some((from, to)) = part else {
            return 6;
        };
        gate.answer(
            call,
            &numbers_message(&[u64::from(*from), u64::from(*to)]),
            &[],
        );
    }
    let (mut count, mut sum, mut slowest) = (0, 0_u64, 0);
    let mut each = Vec::new();
    for _ in 0..workers {
        let Ok(result) = gate.receive() else {
            return 7;
        };
        let [primes, checksum, ticks] = [0, 8, 16].map(|at| number(&result.params, at));
        gate.answer(result.call, &[], &[]);
        count += primes;
        sum = sum.wrapping_add(checksum);
        slowest = slowest.max(ticks);
        each.push(ticks >> 20);
    }
    for child in &children {
        if child.wait() != Ok(0) {
            return 8;
        }
    }
    let right = count == work::COUNT && sum == work::CHECKSUM;
    let _ = console.write_line(&format!(
        "scale: workload=primes workers={workers} cpus={cpus} count={count} checksum={sum} \
         verified={right} elapsed={} (cycles >> 20) each={each:?}",
        slowest >> 20,
    ));
    i64::from(!right)
}
