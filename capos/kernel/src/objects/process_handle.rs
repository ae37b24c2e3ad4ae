//! A process that was made: whoever made it may wait for its end, or end it.

use crate::call::{Call, Exception, Reply};
use crate::hold::{Facet, Object};
use crate::process::{Exit, Process, TERMINATED};
use alloc::sync::{Arc, Weak};
use bailiwick_capos_core::interfaces;

/// The handle. It does not keep the process, only how that ended.
pub(crate) struct ProcessHandle {
    pub(crate) process: Weak<Process>,
    pub(crate) exit: Arc<Exit>,
}

impl Object for ProcessHandle {
    fn interface(&self) -> u64 {
        interfaces::PROCESS_HANDLE.id
    }

    fn label(&self) -> &'static str {
        "process handle"
    }

    fn takes_back(&self, _: u16) -> bool {
        true
    }

    fn call(&self, call: Call) {
        match call.method {
            0 => self.wait(call),
            1 => {
                if let Some(process) = self.process.upgrade() {
                    process.end(TERMINATED);
                }
                call.answer(Reply::nothing());
            }
            _ => call.answer(Reply::no_method()),
        }
    }

    /// Whoever lets go of it waits no longer; the process runs on.
    fn released(&self, _: Facet, by: &Arc<Process>) {
        self.forget(by);
    }

    fn forget(&self, by: &Arc<Process>) {
        let waiting = self
            .exit
            .waiting
            .lock()
            .take_if(|waiting| waiting.is_of(by));
        drop(waiting);
    }
}

impl ProcessHandle {
    /// One waits at a time.
    fn wait(&self, call: Call) {
        let mut waiting = self.exit.waiting.lock();
        let code = *self.exit.code.lock();
        match (code, &mut *waiting) {
            (Some(code), _) => {
                drop(waiting);
                call.answer(Reply::numbers(&[code.cast_unsigned()]));
            }
            (None, Some(_)) => {
                drop(waiting);
                let why = "somebody waits for this process already";
                call.answer(Reply::raised(Exception::Overloaded, why));
            }
            (None, none) => *none = Some(call.pending),
        }
    }
}
