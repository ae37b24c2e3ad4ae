//! Makes threads of the process that calls.

use super::thread_handle::ThreadHandle;
use super::{Begins, with_params_to_begin};
use crate::arch::context::Context;
use crate::call::{Call, Exception, Reply};
use crate::hold::{Hold, Object};
use crate::submit::Sent;
use alloc::sync::Arc;
use alloc::vec;
use bailiwick_capos_core::{interfaces, layout};

/// The spawner.
pub(crate) struct ThreadSpawner;

impl Object for ThreadSpawner {
    fn interface(&self) -> u64 {
        interfaces::THREAD_SPAWNER.id
    }

    fn label(&self) -> &'static str {
        "thread spawner"
    }

    fn call(&self, call: Call) {
        if call.method != 0 {
            return call.answer(Reply::no_method());
        }
        with_params_to_begin(call, |params, call| {
            let [entry, stack, argument, fs_base, flags] =
                [0, 8, 16, 24, 32].map(|at| params.u64(at));
            let is_program = |address: u64| address < layout::USER_LIMIT;
            let valid = flags == 0 && [entry, stack, fs_base].into_iter().all(is_program);
            if !valid || stack % 16 != 0 {
                let why = "a flag is unknown, or an address is not a program's or not aligned";
                return Ok(Err(Reply::raised(Exception::InvalidArgument, why)));
            }
            let process = &call.process;
            // The stack as a call would have left it.
            let context = Context::new(entry, stack.wrapping_sub(8), [argument, 0, 0]);
            let Some(thread) = process.add_thread(context, fs_base) else {
                let why = "the process has as many threads as it may have";
                return Ok(Err(Reply::raised(Exception::Overloaded, why)));
            };
            let handle = Hold::own(Arc::new(ThreadHandle(thread.outcome.clone())));
            let sent = Sent::nothing(process);
            Ok(Ok((
                Reply::capabilities(vec![handle]),
                Begins { thread, sent },
            )))
        });
    }
}
