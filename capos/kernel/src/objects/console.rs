//! The console: bytes to the serial port. It is bound to the program that was given it, and not passed on.

use super::with_params;
use crate::arch::serial;
use crate::call::{Call, Reply};
use crate::hold::Object;
use bailiwick_capos_core::interfaces;

/// The console.
pub(crate) struct Console;

impl Object for Console {
    fn interface(&self) -> u64 {
        interfaces::CONSOLE.id
    }

    fn label(&self) -> &'static str {
        "console"
    }

    fn call(&self, call: Call) {
        match call.method {
            0 => with_params(call, |params, _| {
                serial::write(&[params.data(0)?]);
                Ok(Reply::nothing())
            }),
            1 => with_params(call, |params, _| {
                serial::write(&[params.text(0)?.as_bytes(), b"\n"]);
                Ok(Reply::nothing())
            }),
            _ => call.answer(Reply::no_method()),
        }
    }
}
