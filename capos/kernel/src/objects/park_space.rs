//! Words to park on: of the process's own addresses, or of memory that several processes have mapped.

use crate::call::{Call, Reply};
use crate::hold::Object;
use crate::park::{Key, SHARED};
use crate::process::Process;
use bailiwick_capos_core::interfaces;

/// The words of the process that holds it.
pub(crate) struct ParkSpace;

impl Object for ParkSpace {
    fn interface(&self) -> u64 {
        interfaces::PARK_SPACE.id
    }

    fn label(&self) -> &'static str {
        "park space"
    }

    fn call(&self, call: Call) {
        call.answer(Reply::no_method());
    }

    fn park_key(&self, process: &Process, address: u64) -> Option<Key> {
        Some((process.number.into(), address))
    }
}

/// Words of memory objects, wherever they are mapped: whoever has one mapped wakes whoever waits on it.
pub(crate) struct SharedParkSpace;

impl Object for SharedParkSpace {
    fn interface(&self) -> u64 {
        interfaces::SHARED_PARK_SPACE.id
    }

    fn label(&self) -> &'static str {
        "shared park space"
    }

    fn call(&self, call: Call) {
        call.answer(Reply::no_method());
    }

    fn park_key(&self, process: &Process, address: u64) -> Option<Key> {
        Some((SHARED, process.space.shared(address)?))
    }
}
