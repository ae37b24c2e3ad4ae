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
use crate::process::TERMINATED;
use crate::schedule;
use crate::submit::Sent;
use crate::thread::Thread;
use alloc::sync::Arc;
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

/// A thread that was made and has not begun, and what leaves the caller's table for it.
pub(crate) struct Begins {
    pub(crate) thread: Arc<Thread>,
    pub(crate) sent: Sent,
}

/// The same for a method that has something begin: that does so once its maker has what it gets of it. What
/// could not be answered has not begun, and what was to leave for it is back before that is told.
pub(crate) fn with_params_to_begin(
    call: Call,
    method: impl FnOnce(&Struct<'_, '_>, &Call) -> Result<Result<(Reply, Begins), Reply>, Malformed>,
) {
    let made = Message::parse(&call.params)
        .and_then(|message| method(&message.root()?, &call))
        .unwrap_or_else(|_| Err(Reply::malformed()));
    match made {
        Err(reply) => call.answer(reply),
        Ok((reply, Begins { thread, mut sent })) => {
            let cqe = call.pending.written(reply, || sent.leave());
            drop(sent);
            if cqe.result < 0 {
                // It is retired where it would have begun; a process ends with its only thread.
                thread.end(TERMINATED);
            }
            call.pending.post(cqe);
            schedule::ready(thread, true);
        }
    }
}
