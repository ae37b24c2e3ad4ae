//! The clock, and sleep.

use super::with_params;
use crate::call::{Call, Reply};
use crate::hold::Object;
use crate::schedule::{self, Due};
use crate::time;
use bailiwick_capos_core::interfaces;
use bailiwick_capos_core::message::Message;
use bailiwick_capos_core::ring::error;

/// The timer.
pub(crate) struct Timer;

impl Object for Timer {
    fn interface(&self) -> u64 {
        interfaces::TIMER.id
    }

    fn label(&self) -> &'static str {
        "timer"
    }

    fn takes_back(&self, _: u16) -> bool {
        true
    }

    fn call(&self, call: Call) {
        match call.method {
            0 => {
                let now = time::now();
                call.answer(Reply::numbers(&[now, now / time::TICK]));
            }
            1 => sleep(call),
            _ => call.answer(Reply::no_method()),
        }
    }
}

fn sleep(call: Call) {
    let duration = Message::parse(&call.params).and_then(|m| Ok(m.root()?.u64(0)));
    let Ok(duration) = duration else {
        return with_params(call, |_, _| Ok(Reply::Refused(error::PARAMS)));
    };
    if !call.process.quota.sleepers.take(1) {
        let why = "the process sleeps as often as it may";
        return call.answer(Reply::raised(crate::call::Exception::Overloaded, why));
    }
    schedule::at(schedule::after(duration), Due::Sleep(call.pending));
}
