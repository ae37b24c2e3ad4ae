//! Bodies on their way. Decision: bytes are looked at as they pass and never collected to be passed
//! on later; where a rule must see them first, no more than the policy's limit is held back.

use crate::filter::{BodyError, Filter, Filtered};
use hyper::body::{Body as _, Bytes, Frame, Incoming, SizeHint};
use hyper::header::HeaderMap;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// How long is waited for a body that a rule must see. A program that says the rest only when it has
/// heard something would wait for ever.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of all bodies that are held back at one time, where the policy's limit for one is not near it.
const ROOM: usize = 64 * 1024 * 1024;
/// What a part takes beside its bytes.
const PART: usize = 32;

/// What is left for bodies that are held back. Requests and answers have their own: an answer that
/// waits for room must not wait for its request.
pub(crate) struct Room {
    pub(crate) requests: Arc<Semaphore>,
    pub(crate) answers: Arc<Semaphore>,
    /// For what is collected of bodies that are not held back, and what decodes them.
    pub(crate) watched: Arc<Semaphore>,
    /// For what is read of the answers of language models. It is their own: what else is watched must
    /// not keep what they cost from being known.
    pub(crate) models: Arc<Semaphore>,
    /// For what clients, and servers, may send over HTTP/2 before it is taken.
    pub(crate) uploads: Arc<Semaphore>,
    pub(crate) downloads: Arc<Semaphore>,
    /// For what decodes answers in which secrets are looked for.
    pub(crate) masked: Arc<Semaphore>,
}

impl Room {
    /// Where `limit` bytes of one body are held back at most.
    pub(crate) fn new(limit: usize) -> Self {
        let room = ROOM
            .max(limit.saturating_mul(4))
            .min(Semaphore::MAX_PERMITS);
        Self {
            requests: Arc::new(Semaphore::new(room)),
            answers: Arc::new(Semaphore::new(room)),
            watched: Arc::new(Semaphore::new(room)),
            models: Arc::new(Semaphore::new(ROOM)),
            uploads: Arc::new(Semaphore::new(ROOM)),
            downloads: Arc::new(Semaphore::new(2 * ROOM)),
            masked: Arc::new(Semaphore::new(ROOM)),
        }
    }
}

/// How a body ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All of it came.
    Whole,
    /// Its sender broke off.
    Broken(String),
    /// Whoever it was for did not want the rest.
    Dropped,
}

/// What looks at a body as it passes.
pub(crate) trait Tap: Send {
    /// A part of it.
    fn data(&mut self, data: &Bytes);
    /// Looks at some more of the part, which waits for that; whether there is more to look at.
    fn step(&mut self) -> bool {
        false
    }
    /// It ended; nothing comes after that.
    fn end(&mut self, end: &End);
}

/// The body of a message that the gate passes on or writes.
pub(crate) enum Body {
    /// The gate's own.
    Own(Option<Bytes>),
    /// Another's, looked at as it passes.
    Passing(Box<Passing>),
    /// One that is changed after it was looked at.
    Filtered(Box<Filtered<Self>>),
}

/// A body as it comes in.
pub(crate) enum Source {
    /// As it was sent.
    Plain(Incoming),
    /// Changed before anybody looks at it.
    Filtered(Box<Filtered<Incoming>>),
}

impl Source {
    /// The same, changed.
    pub(crate) fn filtered(body: Incoming, filter: impl Filter + 'static) -> Self {
        Self::Filtered(Box::new(Filtered::new(body, Box::new(filter))))
    }
}

impl From<Incoming> for Source {
    fn from(body: Incoming) -> Self {
        Self::Plain(body)
    }
}

impl hyper::body::Body for Source {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            Self::Plain(body) => Pin::new(body).poll_frame(cx).map_err(BodyError::from),
            Self::Filtered(body) => Pin::new(&mut **body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Plain(body) => body.is_end_stream(),
            Self::Filtered(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Plain(body) => body.size_hint(),
            Self::Filtered(body) => body.size_hint(),
        }
    }
}

/// A body that passes.
pub(crate) struct Passing {
    /// What was held back.
    ahead: VecDeque<Bytes>,
    rest: Option<Source>,
    /// What came behind what was held back.
    trailers: Option<HeaderMap>,
    taps: Vec<Box<dyn Tap>>,
    /// The part that is looked at.
    part: Option<Bytes>,
    ended: bool,
    /// Of what was held back, as long as it is there.
    _room: Option<OwnedSemaphorePermit>,
}

impl Body {
    /// Another's body, with what looks at it.
    pub(crate) fn passing(held: Held, taps: Vec<Box<dyn Tap>>) -> Self {
        Self::Passing(Box::new(Passing {
            ahead: held.parts.into(),
            rest: held.rest,
            trailers: held.trailers,
            taps,
            part: None,
            ended: false,
            _room: held.room,
        }))
    }

    /// The same, changed on its way out.
    pub(crate) fn filtered(self, filter: impl Filter + 'static) -> Self {
        Self::Filtered(Box::new(Filtered::new(self, Box::new(filter))))
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Own(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

impl Passing {
    fn tell_end(&mut self, end: &End) {
        if !std::mem::replace(&mut self.ended, true) {
            self.taps.iter_mut().for_each(|tap| tap.end(end));
        }
    }

    fn is_over(&self) -> bool {
        self.part.is_none()
            && self.ahead.is_empty()
            && self.trailers.is_none()
            && self.rest.as_ref().is_none_or(Source::is_end_stream)
    }

    /// Has a part looked at, one step at a time: what is decoded of it can be much, and others have
    /// their turn between two steps.
    fn look(&mut self, cx: &mut Context<'_>, part: Bytes) -> Poll<Bytes> {
        let more = self.taps.iter_mut().map(|tap| tap.step());
        match more.fold(false, |any, more| any | more) {
            false => Poll::Ready(part),
            true => {
                self.part = Some(part);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(part) = self.part.take() {
            return self.look(cx, part).map(|part| Some(Ok(Frame::data(part))));
        }
        let frame = match self.ahead.pop_front() {
            Some(part) => Some(Ok(Frame::data(part))),
            None => match &mut self.rest {
                None => self
                    .trailers
                    .take()
                    .map(|trailers| Ok(Frame::trailers(trailers))),
                Some(rest) => match Pin::new(rest).poll_frame(cx) {
                    Poll::Ready(frame) => frame,
                    Poll::Pending => return Poll::Pending,
                },
            },
        };
        let frame = match frame.map(|frame| frame.map(Frame::into_data)) {
            Some(Ok(Ok(part))) => {
                self.taps.iter_mut().for_each(|tap| tap.data(&part));
                return self.look(cx, part).map(|part| Some(Ok(Frame::data(part))));
            }
            Some(Ok(Err(other))) => Some(Ok(other)),
            Some(Err(error)) => {
                self.tell_end(&End::Broken(error.to_string()));
                Some(Err(error))
            }
            None => {
                self.tell_end(&End::Whole);
                None
            }
        };
        Poll::Ready(frame)
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        // Whoever knows how long it is does not ask for its end.
        let end = match self.is_over() {
            true => End::Whole,
            false => End::Dropped,
        };
        self.tell_end(&end);
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            Self::Own(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Passing(passing) => passing.poll(cx),
            Self::Filtered(body) => Pin::new(&mut **body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Own(bytes) => bytes.is_none(),
            Self::Passing(passing) => passing.is_over(),
            Self::Filtered(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Own(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            // Its sender may have said no length: in HTTP/2 one would be said in its place.
            _ if self.is_end_stream() => SizeHint::new(),
            Self::Filtered(body) => body.size_hint(),
            Self::Passing(passing) => {
                let ahead = passing.part.iter().chain(&passing.ahead);
                let ahead: u64 = ahead.map(|part| part.len() as u64).sum();
                let rest = passing.rest.as_ref();
                let rest = rest.map_or(SizeHint::with_exact(0), Source::size_hint);
                let mut hint = SizeHint::new();
                hint.set_lower(ahead.saturating_add(rest.lower()));
                if let Some(upper) = rest.upper() {
                    hint.set_upper(ahead.saturating_add(upper));
                }
                hint
            }
        }
    }
}

/// Waits for room; none where there is none in time.
async fn acquire(
    room: &Arc<Semaphore>,
    size: usize,
    until: Instant,
) -> Option<OwnedSemaphorePermit> {
    let size = u32::try_from(size).ok()?;
    let more = timeout_at(until, Arc::clone(room).acquire_many_owned(size));
    more.await.ok()?.ok()
}

/// Waits for room for what is read from a body that is held, as long as for a body.
pub(crate) async fn reserve(room: &Arc<Semaphore>, size: usize) -> Option<OwnedSemaphorePermit> {
    acquire(room, size, Instant::now() + PATIENCE).await
}

/// The beginning of a body, held back, and the rest of it.
pub(crate) struct Held {
    pub(crate) parts: Vec<Bytes>,
    /// None where all of it is held.
    pub(crate) rest: Option<Source>,
    pub(crate) trailers: Option<HeaderMap>,
    /// What it takes of the room for all.
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

impl Held {
    /// Nothing is held back.
    pub(crate) fn nothing(body: impl Into<Source>) -> Self {
        Self {
            rest: Some(body.into()),
            ..Self::none()
        }
    }

    /// There is nothing.
    pub(crate) fn none() -> Self {
        Self {
            parts: Vec::new(),
            rest: None,
            trailers: None,
            room: None,
        }
    }

    /// Takes room for a part; where there is none in time, no more is held back.
    async fn make_room(&mut self, room: &Arc<Semaphore>, part: usize, until: Instant) -> bool {
        let more = acquire(room, part.saturating_add(PART), until).await;
        more.map(|more| self.take_room(more)).is_some()
    }

    /// Holds so much room for as long as the body is held.
    pub(crate) fn take_room(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.room {
            Some(room) => room.merge(more),
            none => *none = Some(more),
        }
    }

    /// Holds a body back until it has come whole, or `limit` bytes of it have.
    pub(crate) async fn of(
        mut body: Source,
        limit: usize,
        room: &Arc<Semaphore>,
    ) -> Result<Self, BodyError> {
        use http_body_util::BodyExt as _;
        let until = Instant::now() + PATIENCE;
        let (mut held, mut length) = (Self::none(), 0);
        while !body.is_end_stream() {
            match timeout_at(until, body.frame()).await {
                // What is behind trailers is nothing.
                Ok(None) => break,
                Ok(Some(Err(error))) => return Err(error),
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => {
                        length += data.len();
                        let fits = held.make_room(room, data.len(), until).await;
                        held.parts.push(data);
                        if !fits {
                            held.rest = Some(body);
                            return Ok(held);
                        }
                    }
                    Err(frame) => held.trailers = frame.into_trailers().ok(),
                },
                Err(_) => {
                    held.rest = Some(body);
                    return Ok(held);
                }
            }
            if length > limit {
                held.rest = Some(body);
                return Ok(held);
            }
        }
        Ok(held)
    }

    /// What is held, in one piece.
    pub(crate) fn bytes(&self) -> Bytes {
        match &self.parts[..] {
            [one] => one.clone(),
            all => Bytes::from(all.concat()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_passes_with_nothing_in_it_says_no_length_of_its_own() {
        let nothing = Body::passing(Held::none(), Vec::new());
        assert!(nothing.is_end_stream());
        assert_eq!(nothing.size_hint().exact(), None);
        let one = Held {
            parts: vec![Bytes::from_static(b"one")],
            ..Held::none()
        };
        assert_eq!(Body::passing(one, Vec::new()).size_hint().exact(), Some(3));
    }

    /// Looks at each part in so many steps, and tells how it ended.
    struct Slow(usize, usize, Arc<std::sync::Mutex<Option<End>>>);

    impl Tap for Slow {
        fn data(&mut self, _: &Bytes) {
            self.1 = self.0;
        }

        fn step(&mut self) -> bool {
            self.1 -= 1;
            self.1 > 0
        }

        fn end(&mut self, end: &End) {
            *self.2.lock().unwrap() = Some(end.clone());
        }
    }

    #[test]
    fn others_have_their_turn_between_the_steps_of_what_looks_at_a_part() {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        for enough in [true, false] {
            let end = Arc::default();
            let held = Held {
                parts: vec![Bytes::from_static(b"one")],
                ..Held::none()
            };
            let mut body = Body::passing(held, vec![Box::new(Slow(4, 0, Arc::clone(&end)))]);
            for _ in 0..3 {
                assert!(Pin::new(&mut body).poll_frame(&mut cx).is_pending());
                assert!(!body.is_end_stream() && body.size_hint().exact() == Some(3));
            }
            if enough {
                let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut cx) else {
                    panic!("it was looked at");
                };
                assert_eq!(frame.into_data().unwrap(), "one");
                assert!(body.is_end_stream());
            }
            drop(body);
            let end = end.lock().unwrap().take();
            assert_eq!(end == Some(End::Whole), enough);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_held_back_of_all_bodies_together_is_bounded() {
        let room = Arc::new(Semaphore::new(2 * (100 + PART)));
        let soon = || Instant::now() + Duration::from_millis(50);
        let (mut one, mut two) = (Held::none(), Held::none());
        assert!(one.make_room(&room, 100, soon()).await);
        assert!(one.make_room(&room, 100, soon()).await);
        assert!(!two.make_room(&room, 1, soon()).await);
        drop(Body::passing(one, Vec::new()));
        assert!(two.make_room(&room, 200, soon()).await);
    }
}
