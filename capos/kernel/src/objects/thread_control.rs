//! What a thread may do to itself: its FS base, and its end.

use super::with_params;
use crate::arch::{msr, write_msr};
use crate::call::{Call, Exception, Reply};
use crate::hold::Object;
use crate::schedule;
use bailiwick_capos_core::{interfaces, layout};
use core::sync::atomic::Ordering;

/// The control of the thread that calls.
pub(crate) struct ThreadControl;

impl Object for ThreadControl {
    fn interface(&self) -> u64 {
        interfaces::THREAD_CONTROL.id
    }

    fn label(&self) -> &'static str {
        "thread control"
    }

    fn takes_back(&self, method: u16) -> bool {
        matches!(method, 2)
    }

    fn call(&self, call: Call) {
        // Calls on it are made by the thread that has entered: an entry is taken by whoever enters.
        let thread = schedule::running();
        match call.method {
            0 => call.answer(Reply::numbers(&[thread.fs_base.load(Ordering::Relaxed)])),
            1 => with_params(call, |params, _| {
                let base = params.u64(0);
                if base >= layout::USER_LIMIT {
                    let why = "the FS base is no address of a program's";
                    return Ok(Reply::raised(Exception::InvalidArgument, why));
                }
                thread.fs_base.store(base, Ordering::Relaxed);
                // SAFETY: it is a program's address; the kernel does not use FS.
                unsafe { write_msr(msr::FS_BASE, base) }
                Ok(Reply::nothing())
            }),
            2 => with_params(call, |params, _| {
                thread.end(params.i64(0));
                Ok(Reply::nothing())
            }),
            _ => call.answer(Reply::no_method()),
        }
    }
}
