//! A thread that was made: whoever made it may wait for its end. To let go of it lets the thread run on.

use crate::call::{Call, Pending, Reply};
use crate::hold::Object;
use crate::sync::SpinLock;
use alloc::sync::Arc;
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces;
use bailiwick_capos_core::message::Builder;

/// How a thread ended, and who waits for that; outlives the thread.
pub(crate) struct Outcome(SpinLock<State>);

struct State {
    code: Option<i64>,
    waiting: Vec<Pending>,
}

impl Outcome {
    /// Of a thread that runs.
    pub(crate) const fn new() -> Self {
        Self(SpinLock::new(State {
            code: None,
            waiting: Vec::new(),
        }))
    }

    /// It has ended.
    pub(crate) fn is(&self, code: i64) {
        let waiting = {
            let mut state = self.0.lock();
            state.code = Some(code);
            core::mem::take(&mut state.waiting)
        };
        for pending in waiting {
            pending.complete(Reply::numbers(&[code.cast_unsigned()]));
        }
    }
}

/// The handle.
pub(crate) struct ThreadHandle(pub(crate) Arc<Outcome>);

impl Object for ThreadHandle {
    fn interface(&self) -> u64 {
        interfaces::THREAD_HANDLE.id
    }

    fn label(&self) -> &'static str {
        "thread handle"
    }

    fn call(&self, call: Call) {
        let mut state = self.0.0.lock();
        let code = state.code;
        match (call.method, code) {
            (0, None) => state.waiting.push(call.pending),
            (0, Some(code)) => {
                drop(state);
                call.answer(Reply::numbers(&[code.cast_unsigned()]));
            }
            (1, code) => {
                drop(state);
                let mut builder = Builder::new(2, 0);
                let root = builder.root();
                builder.set_bool(root, 0, code.is_some());
                builder.set_i64(root, 8, code.unwrap_or_default());
                call.answer(Reply::Done(builder.finish(), Vec::new()));
            }
            _ => {
                drop(state);
                call.answer(Reply::no_method());
            }
        }
    }
}
