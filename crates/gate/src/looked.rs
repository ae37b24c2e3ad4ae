//! Messages as rules see them: what of a body was held back, as text, with its codings undone.

use crate::body::{Held, Source, reserve};
use crate::charset;
use crate::decode::{Coding, Decoder};
use crate::filter::BodyError;
use crate::rewriting;
use bailiwick_event::fields::{BodyState, Message, SeenBody};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use std::borrow::Cow;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::yield_now;

/// What of a message's body was held back for a rule.
pub(crate) struct Looked {
    pub(crate) held: Held,
    pub(crate) state: BodyState,
    pub(crate) text: String,
    /// Whether the text is the body, letter by letter.
    pub(crate) plain: bool,
    /// Bytes as they came.
    pub(crate) size: Option<i64>,
}

/// Steps of decoding after which others have their turn.
const STEPS: usize = 16;

/// Bytes as what is decoded of them, and whether that is not all.
async fn decode(
    coding: Coding,
    bytes: Bytes,
    limit: usize,
    room: &Arc<Semaphore>,
) -> (Vec<u8>, bool) {
    let mut decoder = Decoder::new(coding, limit, room);
    decoder.take(&bytes);
    decoder.end();
    let (mut text, mut steps) = (Vec::new(), 0);
    while let Some(new) = decoder.step() {
        text.extend_from_slice(&new);
        steps += 1;
        if steps % STEPS == 0 {
            yield_now().await;
        }
    }
    (text, decoder.is_cut())
}

/// The same, where there is room for all that may come of it: a few bytes can stand for as many as
/// the limit is. What did come takes room for as long as the body is held.
async fn decode_within(
    held: &mut Held,
    coding: Coding,
    bytes: Bytes,
    limit: usize,
    room: &Arc<Semaphore>,
) -> (Vec<u8>, bool) {
    let Some(mut reserved) = reserve(room, limit).await else {
        return (Vec::new(), true);
    };
    let (text, cut) = decode(coding, bytes, limit, room).await;
    drop(reserved.split(limit.saturating_sub(text.len())));
    held.take_room(reserved);
    (text, cut)
}

impl Looked {
    /// Holds a body back, as far as the policy lets it.
    pub(crate) async fn at(
        body: Source,
        headers: &HeaderMap,
        limit: usize,
        room: &Arc<Semaphore>,
    ) -> Result<Self, BodyError> {
        let mut held = Held::of(body, limit, room).await?;
        let (bytes, coding) = (held.bytes(), Coding::of(headers));
        let seen = bytes.slice(..bytes.len().min(limit));
        let (text, cut) = match coding {
            Coding::Identity => (seen.to_vec(), false),
            _ => decode_within(&mut held, coding, seen, limit, room).await,
        };
        let read = charset::read(text, headers);
        let whole = held.rest.is_none() && !cut && !read.strange;
        Ok(Self {
            state: match whole {
                true => BodyState::Captured,
                false => BodyState::Truncated,
            },
            size: held
                .rest
                .is_none()
                .then(|| i64::try_from(bytes.len()).unwrap_or(i64::MAX)),
            held,
            text: read.text,
            plain: read.plain,
        })
    }

    fn seen(&self) -> SeenBody<'_> {
        SeenBody {
            state: self.state,
            text: Cow::Borrowed(&self.text),
            content_type: None,
            size: self.size,
        }
    }
}

/// The media type that headers name, without its parameters, in lower case.
fn media_type(headers: &HeaderMap) -> Option<Cow<'static, str>> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let essence = value.split(';').next().unwrap_or_default().trim();
    Some(Cow::Owned(essence.to_ascii_lowercase()))
}

/// A message as rules see it.
pub(crate) fn message<'a>(
    headers: &'a HeaderMap,
    looked: Option<&'a Looked>,
    state: BodyState,
) -> Message<'a> {
    let body = looked.map(Looked::seen).unwrap_or_else(|| SeenBody {
        state,
        ..SeenBody::default()
    });
    Message {
        headers: Some(rewriting::seen(headers)),
        body: SeenBody {
            content_type: media_type(headers),
            ..body
        },
    }
}

/// What is known of a body that nobody has looked at.
pub(crate) fn unseen(is_end: bool) -> BodyState {
    match is_end {
        true => BodyState::None,
        false => BodyState::Unseen,
    }
}

impl Looked {
    /// What can be changed of it: all of it, or nothing.
    pub(crate) fn text(&mut self) -> Option<&mut String> {
        (self.state == BodyState::Captured && self.plain).then_some(&mut self.text)
    }

    /// A body whose text a rule has changed.
    pub(crate) fn changed(self) -> Self {
        let text = self.text;
        Self {
            size: Some(i64::try_from(text.len()).unwrap_or(i64::MAX)),
            held: Held {
                parts: vec![text.clone().into()],
                room: self.held.room,
                ..Held::none()
            },
            state: BodyState::Captured,
            plain: true,
            text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;

    #[tokio::test(start_paused = true)]
    async fn what_is_decoded_of_a_body_that_is_held_takes_room_as_long_as_it_is() {
        const LIMIT: usize = 2 << 20;
        let mut coded = GzEncoder::new(Vec::new(), Compression::fast());
        coded.write_all(&vec![b'a'; 1_500_000]).unwrap();
        let coded = Bytes::from(coded.finish().unwrap());
        let room = Arc::new(Semaphore::new(2 * LIMIT));
        let (mut one, mut two) = (Held::none(), Held::none());
        let decode = async |held: &mut Held| {
            decode_within(held, Coding::Gzip, coded.clone(), LIMIT, &room).await
        };
        let (text, cut) = decode(&mut one).await;
        assert!(text.len() == 1_500_000 && !cut);
        assert_eq!(room.available_permits(), 2 * LIMIT - text.len());
        // What of others is held is more than what is left.
        let others = reserve(&room, LIMIT).await.unwrap();
        assert_eq!(decode(&mut two).await, (Vec::new(), true));
        drop((one, others));
        assert!(!decode(&mut two).await.1);
    }
}
