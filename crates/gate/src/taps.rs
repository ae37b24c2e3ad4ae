//! What looks at bodies as they pass: it counts, records and shows them to detections, and keeps
//! nothing from passing.

use crate::body::{End, Held, Tap};
use crate::charset;
use crate::context::Context;
use crate::decider::Decider;
use crate::decode::{Coding, Decoder};
use crate::exchange::{Sent, nanoseconds};
use crate::keep::Kept;
use crate::looked::{Looked, message};
use crate::share::Share;
use bailiwick_event::fields::{BodyState, Exchange};
use bailiwick_event::{Act, Text};
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Semaphore;

/// Counts what passes.
pub(crate) struct Count(pub(crate) Arc<AtomicU64>);

impl Tap for Count {
    fn data(&mut self, data: &Bytes) {
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
    fn data(&mut self, data: &Bytes) {
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
    /// What it takes of what is left for all bodies that are collected.
    share: Share,
    /// There was no room for all of it.
    full: bool,
}

impl Collected {
    pub(crate) fn new(headers: &HeaderMap, limit: usize, room: &Arc<Semaphore>) -> Self {
        Self {
            decoder: Decoder::new(Coding::of(headers), limit, room),
            text: Vec::new(),
            size: 0,
            share: Share::of(room),
            full: false,
        }
    }

    /// Keeps what was decoded, where there is room.
    fn keep(&mut self, new: &[u8]) {
        match self.share.hold(self.text.len() + new.len()) {
            true => self.text.extend(new),
            false => self.full = true,
        }
    }

    /// Takes a part of it, which is decoded in steps.
    pub(crate) fn take(&mut self, data: &Bytes) {
        self.size += data.len() as u64;
        if !self.full {
            self.decoder.take(data);
        }
    }

    /// Decodes some of the part; whether there is more to do.
    pub(crate) fn step(&mut self) -> bool {
        if !self.full
            && let Some(new) = self.decoder.step()
        {
            self.keep(&new);
        }
        !self.full && self.decoder.has_more()
    }

    /// All that was collected, and whether there was no more.
    pub(crate) fn finish(&mut self) -> (Vec<u8>, bool) {
        self.decoder.end();
        while self.step() {}
        let all = !self.full && !self.decoder.is_cut();
        (std::mem::take(&mut self.text), all)
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
        context: &Context,
        act: &Act,
        request: &HeaderMap,
        response: Option<&HeaderMap>,
    ) -> Self {
        let decider = &context.decider;
        let (headers, limit) = (response.unwrap_or(request), decider.body_limit());
        Self {
            decider: Arc::clone(decider),
            act: act.clone(),
            collected: Collected::new(headers, limit, &context.room.watched),
            request: request.clone(),
            response: response.cloned(),
        }
    }
}

impl Tap for Watch {
    fn data(&mut self, data: &Bytes) {
        self.collected.take(data);
    }

    fn step(&mut self) -> bool {
        self.collected.step()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_collected_has_one_bound() {
        let room = Arc::new(Semaphore::new(100));
        let collected = || Collected::new(&HeaderMap::new(), 1000, &room);
        let (mut one, mut two) = (collected(), collected());
        let take = |collected: &mut Collected, byte: u8, n: usize| {
            collected.take(&Bytes::from(vec![byte; n]));
            while collected.step() {}
        };
        take(&mut one, b'a', 60);
        take(&mut two, b'b', 60);
        take(&mut two, b'c', 1);
        assert_eq!(one.finish(), (vec![b'a'; 60], true));
        assert_eq!(two.finish(), (Vec::new(), false));
        drop(one);
        let mut three = collected();
        take(&mut three, b'd', 100);
        assert_eq!(three.finish(), (vec![b'd'; 100], true));
    }
}
