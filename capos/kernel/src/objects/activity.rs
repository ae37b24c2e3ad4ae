//! What the processors did since the start, summed over all of them: two readings around a part of a
//! program's work show what that part had to do with the kernel. Whoever reads learns of other programs,
//! so that only measuring programs are given it.

use crate::call::{Call, Reply};
use crate::cpu::{self, Counters};
use crate::hold::Object;
use bailiwick_capos_core::interfaces;
use core::sync::atomic::{AtomicU64, Ordering};

/// The object. Its method 0 has five results: locks taken, interrupts of other processors, timer interrupts,
/// threads put onto a processor, system calls.
pub(crate) struct Activity;

fn sum(which: impl Fn(&'static Counters) -> &'static AtomicU64) -> u64 {
    cpu::all()
        .map(|cpu| which(&cpu.counters).load(Ordering::Relaxed))
        .sum()
}

impl Object for Activity {
    fn interface(&self) -> u64 {
        interfaces::ACTIVITY.id
    }

    fn label(&self) -> &'static str {
        "activity"
    }

    fn call(&self, call: Call) {
        let reply = match call.method {
            0 => Reply::numbers(&[
                sum(|of| &of.locks),
                sum(|of| &of.interrupts),
                sum(|of| &of.timers),
                sum(|of| &of.switches),
                sum(|of| &of.calls),
            ]),
            _ => Reply::no_method(),
        };
        call.answer(reply);
    }
}
