//! What the system says of itself: its name, and as the message of the day how many processors run, which
//! is how a program knows it (`cpus=2`).

use crate::call::{Call, Reply};
use crate::cpu;
use crate::hold::Object;
use alloc::format;
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces;
use bailiwick_capos_core::message::Builder;

/// The information.
pub(crate) struct SystemInfo;

impl Object for SystemInfo {
    fn interface(&self) -> u64 {
        interfaces::SYSTEM_INFO.id
    }

    fn label(&self) -> &'static str {
        "system info"
    }

    fn call(&self, call: Call) {
        let text = match call.method {
            0 => format!("bailiwick capos cpus={}", cpu::count_of_processors()),
            1 => "capos".into(),
            _ => return call.answer(Reply::no_method()),
        };
        let mut builder = Builder::new(0, 1);
        let root = builder.root();
        builder.set_text(root, 0, &text);
        call.answer(Reply::Done(builder.finish(), Vec::new()));
    }
}
