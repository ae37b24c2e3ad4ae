//! What the processors did since the start, to look at without asking: a page with a line of the cache for
//! each processor. Two looks around a part of a program's work, at the line of its own processor, show what
//! that part had to do with the kernel. Whoever looks learns of other programs, so that only measuring
//! programs are given it.

use super::memory_object::unmappable;
use super::with_params;
use crate::arch::descriptors;
use crate::call::{Call, Exception, Reply};
use crate::cpu;
use crate::hold::Object;
use crate::memory::space::Rights;
use alloc::sync::Arc;
use bailiwick_capos_core::interfaces;

/// The object. Its method 0 maps the page, at the address that it is told or where there is room, to be
/// read; its result is where. A line has five numbers of 64 bits: locks taken, interrupts of other
/// processors, timer interrupts, threads put onto the processor, system calls. RDTSCP tells the line's number.
pub(crate) struct Activity;

impl Object for Activity {
    fn interface(&self) -> u64 {
        interfaces::ACTIVITY.id
    }

    fn label(&self) -> &'static str {
        "activity"
    }

    fn call(&self, call: Call) {
        match call.method {
            0 if !descriptors::has_rdtscp() => {
                let why = "the processor does not tell programs its number";
                call.answer(Reply::raised(Exception::Unimplemented, why));
            }
            0 => with_params(call, |params, call| {
                let frames = [cpu::frame_of_counters()];
                let space = &call.process.space;
                let mapped = space.map_shared(params.u64(0), &frames, Rights::READ, Arc::new(()));
                Ok(mapped.map_or_else(unmappable, |at| Reply::numbers(&[at])))
            }),
            _ => call.answer(Reply::no_method()),
        }
    }
}
