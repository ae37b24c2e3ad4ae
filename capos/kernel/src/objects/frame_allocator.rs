//! Frames for whoever holds this, as objects to map, share and park on.

use super::memory_object::{Memory, MemoryObject};
use super::with_params;
use crate::call::{Call, Exception, Reply};
use crate::hold::{Hold, Object};
use crate::process::Process;
use alloc::sync::Arc;
use alloc::vec;
use bailiwick_capos_core::interfaces;

/// The allocator.
pub(crate) struct FrameAllocator;

fn take(process: &Arc<Process>, count: usize) -> Reply {
    if count == 0 {
        return Reply::raised(Exception::InvalidArgument, "no frames are nothing to hold");
    }
    match Memory::take(process, count) {
        Some(memory) => {
            let object = Arc::new(MemoryObject(Arc::new(memory)));
            Reply::capabilities(vec![Hold::open(object)])
        }
        None => Reply::raised(
            Exception::Overloaded,
            "there are not so many frames for the process",
        ),
    }
}

impl Object for FrameAllocator {
    fn interface(&self) -> u64 {
        interfaces::FRAME_ALLOCATOR.id
    }

    fn label(&self) -> &'static str {
        "frame allocator"
    }

    fn call(&self, call: Call) {
        match call.method {
            0 => {
                let reply = take(&call.process, 1);
                call.answer(reply);
            }
            1 => with_params(call, |params, call| {
                Ok(take(&call.process, params.u32(0) as usize))
            }),
            _ => call.answer(Reply::no_method()),
        }
    }
}
