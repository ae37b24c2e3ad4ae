//! Waiting and waking as calls, to measure what parking costs beside them: `wait` is answered by the next
//! `wake` (parameters: how many at most), which is told how many waits it has answered.

use super::with_params;
use crate::call::{Call, Exception, Pending, Reply};
use crate::hold::{Facet, Object};
use crate::process::Process;
use crate::sync::SpinLock;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces;

/// Who waits, and how often it is held.
#[derive(Default)]
struct State {
    waits: VecDeque<Pending>,
    held: usize,
}

/// The object.
pub(crate) struct ParkBench(SpinLock<State>);

impl ParkBench {
    /// One on which nobody waits.
    pub(crate) fn new() -> Self {
        Self(SpinLock::new(State::default()))
    }

    fn wake(&self, most: usize) -> usize {
        let woken: Vec<_> = {
            let mut state = self.0.lock();
            let count = most.min(state.waits.len());
            state.waits.drain(..count).collect()
        };
        let count = woken.len();
        for wait in woken {
            wait.complete(Reply::nothing());
        }
        count
    }
}

impl Object for ParkBench {
    fn interface(&self) -> u64 {
        interfaces::PARK_BENCH.id
    }

    fn label(&self) -> &'static str {
        "park bench"
    }

    fn call(&self, call: Call) {
        match call.method {
            0 => self.0.lock().waits.push_back(call.pending),
            1 => with_params(call, |params, _| {
                let woken = self.wake(params.u32(0) as usize);
                Ok(Reply::numbers(&[woken as u64]))
            }),
            _ => call.answer(Reply::no_method()),
        }
    }

    fn held(&self, _: Facet) {
        self.0.lock().held += 1;
    }

    fn forget(&self, process: &Arc<Process>) {
        let mut state = self.0.lock();
        let waits = core::mem::take(&mut state.waits);
        let (gone, stay) = waits.into_iter().partition(|wait| wait.is_of(process));
        state.waits = stay;
        drop(state);
        let _: VecDeque<Pending> = gone;
    }

    fn released(&self, _: Facet, _: &Arc<Process>) {
        let left = {
            let mut state = self.0.lock();
            state.held -= 1;
            match state.held {
                0 => core::mem::take(&mut state.waits),
                _ => VecDeque::new(),
            }
        };
        for wait in left {
            let why = "nobody can wake it any more";
            wait.complete(Reply::raised(Exception::Disconnected, why));
        }
    }
}
