//! Bodies that the policy has kept. They are collected as they pass, with what programs see: a secret
//! that the gate puts in or takes out is in none of them.

use crate::body::{End, Tap};
use crate::context::Context;
use crate::decider::Decider;
use crate::taps::Collected;
use bailiwick_event::KeptBody;
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use std::sync::{Arc, OnceLock};

/// What was kept of a body, once it has passed.
pub(crate) type Kept = Arc<OnceLock<KeptBody>>;

/// Keeps a body when it has passed.
pub(crate) struct Keep {
    decider: Arc<dyn Decider>,
    collected: Collected,
    kept: Kept,
}

impl Keep {
    /// Of the message with these headers, no more bytes than the limit.
    pub(crate) fn new(context: &Context, headers: &HeaderMap, limit: usize, kept: &Kept) -> Self {
        Self {
            decider: Arc::clone(&context.decider),
            collected: Collected::new(headers, limit, &context.room.watched),
            kept: Arc::clone(kept),
        }
    }
}

impl Tap for Keep {
    fn data(&mut self, data: &Bytes) {
        self.collected.take(data);
    }

    fn step(&mut self) -> bool {
        self.collected.step()
    }

    fn end(&mut self, end: &End) {
        let (body, whole) = self.collected.finish();
        if body.is_empty() {
            return;
        }
        if let Some(hash) = self.decider.keep_body(&body) {
            let _ = self.kept.set(KeptBody {
                hash,
                bytes: body.len() as u64,
                cut: !whole || *end != End::Whole,
            });
        }
    }
}
