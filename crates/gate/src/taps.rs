//! What looks at bodies as they pass: it counts, records and shows them to detections, and keeps
//! nothing from passing.

use crate::body::{End, Held, Tap};
use crate::charset;
use crate::decider::Decider;
use crate::decode::{Coding, Decoder};
use crate::exchange::{Sent, nanoseconds};
use crate::keep::Kept;
use crate::looked::{Looked, message};
use bailiwick_event::fields::{BodyState, Exchange};
use bailiwick_event::{Act, Text};
use hyper::header::HeaderMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what passes.
pub(crate) struct Count(pub(crate) Arc<AtomicU64>);

impl Tap for Count {
    fn data(&mut self, data: &[u8]) {
        self.0.fetch_add(data.len() as u64, Ordering::Relaxed);
    }

    fn end(&mut self, _: &End) {}
}

/// Writes the answer's row.
pub(crate) struct Row {
    sent: Sent,
    act: Act,
    received: u64,
    /// What is kept of the answer's body.
    kept: Kept,
}

impl Row {
    pub(crate) fn new(sent: Sent, act: Act, kept: Kept) -> Self {
        Self {
            sent,
            act,
            received: 0,
            kept,
        }
    }
}

impl Tap for Row {
    fn data(&mut self, data: &[u8]) {
        self.received += data.len() as u64;
    }

    fn end(&mut self, end: &End) {
        let mut act = self.act.clone();
        if let Act::HttpResponse {
            sent,
            received,
            masked,
            duration_ns,
            problem,
            bodies,
            ..
        } = &mut act
        {
            *sent = self.sent.bytes();
            *received = self.received;
            *masked = self.sent.masked();
            *bodies = self.sent.bodies(self.kept.get());
            *duration_ns = nanoseconds(self.sent.since());
            *problem = match end {
                End::Whole => None,
                End::Broken(why) => Some(Text::from(why.as_str())),
                End::Dropped => Some(Text::from("the program did not take the rest")),
            };
        }
        self.sent.note(act);
    }
}

/// What is wanted of a body without its coding, collected as it passes.
pub(crate) struct Collected {
    decoder: Decoder,
    text: Vec<u8>,
    size: u64,
}

impl Collected {
    pub(crate) fn new(headers: &HeaderMap, limit: usize) -> Self {
        Self {
            decoder: Decoder::new(Coding::of(headers), limit),
            text: Vec::new(),
            size: 0,
        }
    }

    /// Takes a part of it.
    pub(crate) fn take(&mut self, data: &[u8]) {
        self.size += data.len() as u64;
        let new = self.decoder.decode(data);
        self.text.extend(new);
    }

    /// All that was collected, and whether there was no more.
    pub(crate) fn finish(&mut self) -> (Vec<u8>, bool) {
        let rest = self.decoder.finish();
        self.text.extend(rest);
        (std::mem::take(&mut self.text), !self.decoder.is_cut())
    }
}

/// Asks detections about a body when it has passed.
pub(crate) struct Watch {
    decider: Arc<dyn Decider>,
    act: Act,
    collected: Collected,
    request: HeaderMap,
    /// Those of the answer, where its body is watched.
    response: Option<HeaderMap>,
}

impl Watch {
    /// Watches the body of a request; or of its answer, where that one's headers are given.
    pub(crate) fn new(
        decider: &Arc<dyn Decider>,
        act: &Act,
        request: &HeaderMap,
        response: Option<&HeaderMap>,
    ) -> Self {
        Self {
            decider: Arc::clone(decider),
            act: act.clone(),
            collected: Collected::new(response.unwrap_or(request), decider.body_limit()),
            request: request.clone(),
            response: response.cloned(),
        }
    }
}

impl Tap for Watch {
    fn data(&mut self, data: &[u8]) {
        self.collected.take(data);
    }

    fn end(&mut self, end: &End) {
        let (text, all) = self.collected.finish();
        let whole = *end == End::Whole;
        let headers = self.response.as_ref().unwrap_or(&self.request);
        let read = charset::read(text, headers);
        let looked = Looked {
            held: Held::none(),
            state: match whole && all && !read.strange {
                true => BodyState::Captured,
                false => BodyState::Truncated,
            },
            text: read.text,
            plain: read.plain,
            size: whole.then(|| i64::try_from(self.collected.size).unwrap_or(i64::MAX)),
        };
        let unseen = BodyState::Unseen;
        let exchange = match &self.response {
            None => Exchange {
                request: message(&self.request, Some(&looked), unseen),
                ..Exchange::default()
            },
            Some(response) => Exchange {
                request: message(&self.request, None, unseen),
                response: message(response, Some(&looked), unseen),
                ..Exchange::default()
            },
        };
        self.decider.watched(&self.act, exchange);
    }
}
