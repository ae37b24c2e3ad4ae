//! An object without methods: what a call costs that does nothing.

use crate::call::{Call, Reply};
use crate::hold::Object;
use bailiwick_capos_core::interfaces;

/// The object. Its method 0 does nothing.
pub(crate) struct Null;

impl Object for Null {
    fn interface(&self) -> u64 {
        interfaces::NULL.id
    }

    fn label(&self) -> &'static str {
        "null"
    }

    fn call(&self, call: Call) {
        let reply = match call.method {
            0 => Reply::nothing(),
            _ => Reply::no_method(),
        };
        call.answer(reply);
    }
}
