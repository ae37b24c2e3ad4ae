//! The kernel's objects, one file each. Every one answers calls by its interface's methods and nothing
//! else; what it may do for a program is what it was made with.

pub(crate) mod activity;
pub(crate) mod boot_package;
pub(crate) mod capability_manager;
pub(crate) mod console;
pub(crate) mod endpoint;
pub(crate) mod entropy_source;
pub(crate) mod frame_allocator;
pub(crate) mod memory_object;
pub(crate) mod null;
pub(crate) mod park_bench;
pub(crate) mod park_space;
pub(crate) mod pipe;
pub(crate) mod process_handle;
pub(crate) mod process_spawner;
pub(crate) mod sources;
pub(crate) mod system_info;
pub(crate) mod thread_control;
pub(crate) mod thread_handle;
pub(crate) mod thread_spawner;
pub(crate) mod timer;
pub(crate) mod virtual_memory;

use crate::call::{Call, Reply};
use bailiwick_capos_core::message::{Malformed, Message, Struct};

/// Reads the parameters of a call, and answers it by what the method says of them.
pub(crate) fn with_params(
    call: Call,
    method: impl FnOnce(&Struct<'_, '_>, &Call) -> Result<Reply, Malformed>,
) {
    let reply = Message::parse(&call.params)
        .and_then(|message| method(&message.root()?, &call))
        .unwrap_or_else(|_| Reply::malformed());
    call.answer(reply);
}
