//! The state of one end: which streams there are, who may send how much, and what is to be sent.
//!
//! Decision: no I/O and no time in here, so that every order of frames can be tried. A stream has a
//! window in each direction; its sender never has more under way than the receiver has room for, so
//! that a slow reader stops its own writer and nobody else.

mod window;

pub use window::{FIRST, POOL, WINDOW};

use crate::frame::{HEADER, Header, Kind, PAYLOAD, Violation};
use crate::hello::Role;
use crate::queue::Queue;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::io;
use window::{Pool, Stream};

/// How many streams a peer may have open at once. A connection costs a host some 18 KiB.
pub const STREAMS: usize = 704;
/// How much memory is kept for what is to be sent while there is nothing, in bytes.
const KEPT: usize = 512 * 1024;
/// The longest message to a guest and to a host, in bytes: a command's environment is long, a report
/// is not. A report of nothing but empty words costs its reader 24 times as much as it has bytes.
const LONGEST: [usize; 2] = [8 * 1024 * 1024, 64 * 1024];

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The peer is there, with no stream open: what this side had is gone.
    Hello,
    /// A message; [`Mux::decode`] reads it.
    Message(Vec<u8>),
    /// The peer has opened a stream; the contents of its first frame.
    Opened(u32, &'a [u8]),
    /// Bytes of a stream. [`Mux::consumed`] makes room for more.
    Data(u32, &'a [u8]),
    /// More of a stream may be sent.
    Credit(u32),
    /// The peer sends no more of a stream.
    End(u32),
    /// A stream is over: nothing more is taken from this side, and nothing more comes.
    Reset(u32),
}

/// One end of a channel.
#[derive(Debug)]
pub struct Mux {
    role: Role,
    greeted: bool,
    streams: HashMap<u32, Stream>,
    pool: Pool,
    /// How many of them the peer has opened.
    theirs: usize,
    /// The highest numbers so far: this side's, the peer's.
    last: [u32; 2],
    /// Parts of a message that is not complete.
    parts: Vec<u8>,
    out: Queue,
}

impl Mux {
    /// An end that greets its peer.
    #[must_use]
    pub fn new(role: Role) -> Self {
        let mut mux = Self {
            role,
            greeted: false,
            streams: HashMap::new(),
            pool: Pool::new(),
            theirs: 0,
            last: [0; 2],
            parts: Vec::new(),
            out: Queue::keeping(KEPT),
        };
        mux.greet();
        mux
    }

    fn greet(&mut self) {
        let hello = self.role.hello();
        self.frame(0, Kind::Hello, &hello);
    }

    /// What is to be sent.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        self.out.as_slice()
    }

    /// So many bytes of it were sent.
    pub fn sent(&mut self, bytes: usize) {
        self.out.take(bytes);
    }

    /// How much memory waiting bytes have: what is to be sent and a message that is not complete.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.out.memory() + self.parts.capacity()
    }

    fn frame(&mut self, stream: u32, kind: Kind, payload: &[u8]) {
        let header = Header {
            stream,
            kind,
            length: payload.len(),
        };
        self.out.extend(&header.bytes());
        self.out.extend(payload);
    }

    /// Sends a message.
    pub fn message(&mut self, message: &impl Serialize) {
        // Every message can be written; one that could not would be a mistake in the schema.
        let Ok(bytes) = postcard::to_allocvec(message) else {
            return;
        };
        let mut rest = bytes.as_slice();
        while let Some((part, more)) = rest
            .split_at_checked(PAYLOAD)
            .filter(|(_, m)| !m.is_empty())
        {
            self.frame(0, Kind::Part, part);
            rest = more;
        }
        self.frame(0, Kind::Message, rest);
    }

    /// Inserts a message into the bytes that wait to be sent, `ahead` bytes from their beginning, which must be the
    /// end of a message.
    pub fn message_ahead(&mut self, ahead: usize, message: &impl Serialize) {
        let before = self.out.len();
        self.message(message);
        self.out.bring_forward(ahead, before);
    }

    /// Reads a message or the first frame of a stream; all of it must mean something.
    ///
    /// # Errors
    /// A [`Violation`] where it means nothing.
    pub fn decode<T: DeserializeOwned>(bytes: &[u8], kind: Kind) -> Result<T, Violation> {
        match postcard::take_from_bytes(bytes) {
            Ok((value, [])) => Ok(value),
            _ => Err(Violation::Contents(kind)),
        }
    }

    /// Opens a stream; `None` where its first frame would be too long.
    pub fn open(&mut self, open: &impl Serialize) -> Option<u32> {
        let bytes = postcard::to_allocvec(open).ok()?;
        if bytes.len() > PAYLOAD {
            return None;
        }
        let first = match self.role {
            Role::Host => 2,
            Role::Guest => 1,
        };
        let id = match self.last[0] {
            0 => first,
            last => last.checked_add(2)?,
        };
        self.last[0] = id;
        self.frame(id, Kind::Open, &bytes);
        self.begin(id);
        Some(id)
    }

    fn begin(&mut self, id: u32) {
        let mut stream = Stream::new();
        let credit = stream.begin(&mut self.pool);
        self.streams.insert(id, stream);
        self.give(id, credit);
    }

    fn give(&mut self, id: u32, credit: u32) {
        if credit > 0 {
            self.frame(id, Kind::Credit, &credit.to_le_bytes());
        }
    }

    /// How many bytes of a stream may be sent now, in one frame.
    #[must_use]
    pub fn allowance(&self, id: u32) -> usize {
        let credit = self.streams.get(&id).map_or(0, Stream::credit);
        (credit as usize).min(PAYLOAD)
    }

    /// Sends what `fill` puts into the buffer that it is given, which has room for the allowance.
    /// Returns how much that was.
    ///
    /// # Errors
    /// Those of `fill`; nothing is sent then.
    pub fn data(
        &mut self,
        id: u32,
        fill: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let allowed = self.allowance(id);
        if allowed == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let place = self.out.place(HEADER + allowed);
        let Some((head, rest)) = place.split_first_chunk_mut::<HEADER>() else {
            return Ok(0);
        };
        let length = fill(rest)?.min(allowed);
        if length == 0 {
            return Ok(0);
        }
        *head = Header {
            stream: id,
            kind: Kind::Data,
            length,
        }
        .bytes();
        self.out.filled(HEADER + length);
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.spend(length);
        }
        Ok(length)
    }

    /// Bytes that came were passed on: there is room for as many more.
    pub fn consumed(&mut self, id: u32, bytes: usize) {
        if let Some(stream) = self.streams.get_mut(&id) {
            let credit = stream.consumed(bytes, &mut self.pool);
            self.give(id, credit);
            self.settle(id);
        }
    }

    /// Sends no more of a stream.
    pub fn end(&mut self, id: u32) {
        if let Some(stream) = self.streams.get_mut(&id)
            && std::mem::take(&mut stream.sends)
        {
            self.frame(id, Kind::End, &[]);
            self.settle(id);
        }
    }

    /// Ends a stream in both directions.
    pub fn reset(&mut self, id: u32) {
        if self.forget(id) {
            self.frame(id, Kind::Reset, &[]);
        }
    }

    /// Whether a stream is open in some direction, or bytes of it were not [consumed](Mux::consumed).
    #[must_use]
    pub fn has(&self, id: u32) -> bool {
        self.streams.contains_key(&id)
    }

    /// Whether the peer may send more of a stream.
    #[must_use]
    pub fn hears(&self, id: u32) -> bool {
        self.streams.get(&id).is_some_and(|stream| stream.hears)
    }

    /// Whether this side may send more of a stream.
    #[must_use]
    pub fn sends(&self, id: u32) -> bool {
        self.streams.get(&id).is_some_and(|stream| stream.sends)
    }

    /// Whether no stream is open.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.streams.is_empty()
    }

    fn forget(&mut self, id: u32) -> bool {
        let Some(stream) = self.streams.remove(&id) else {
            return false;
        };
        stream.give_back(&mut self.pool);
        if !self.is_own(id) {
            self.theirs -= 1;
        }
        true
    }

    fn settle(&mut self, id: u32) {
        if self.streams.get(&id).is_some_and(Stream::is_over) {
            self.forget(id);
        }
    }

    fn is_own(&self, id: u32) -> bool {
        id.is_multiple_of(2) == (self.role == Role::Host)
    }

    /// A stream that was open once and is not any more: the peer may not know that yet.
    fn was(&self, id: u32) -> bool {
        id <= self.last[usize::from(!self.is_own(id))]
    }

    /// Takes the next frame, where all of it is there: how many bytes it has, and what it says.
    ///
    /// # Errors
    /// A [`Violation`], after which the channel is over.
    pub fn parse<'a>(
        &mut self,
        input: &'a [u8],
    ) -> Result<Option<(usize, Option<Event<'a>>)>, Violation> {
        let Some((header, rest)) = input.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let header = Header::read(*header)?;
        let Some(payload) = rest.get(..header.length) else {
            return Ok(None);
        };
        let event = self.take(header, payload)?;
        Ok(Some((HEADER + header.length, event)))
    }

    fn take<'a>(
        &mut self,
        header: Header,
        payload: &'a [u8],
    ) -> Result<Option<Event<'a>>, Violation> {
        let id = header.stream;
        if header.kind == Kind::Hello {
            return self.greeted(payload).map(Some);
        }
        if !self.greeted {
            return Err(Violation::Hello);
        }
        let known = self.streams.contains_key(&id);
        match header.kind {
            Kind::Hello => {}
            Kind::Part | Kind::Message => {
                let longest = match self.role {
                    Role::Guest => LONGEST[0],
                    Role::Host => LONGEST[1],
                };
                if self.parts.len() + payload.len() > longest {
                    return Err(Violation::Message);
                }
                // Only the last part is shorter than it may be: no peer splits a message for nothing.
                if header.kind == Kind::Part && payload.len() < PAYLOAD {
                    return Err(Violation::Contents(Kind::Part));
                }
                self.parts.extend_from_slice(payload);
                if header.kind == Kind::Message {
                    return Ok(Some(Event::Message(std::mem::take(&mut self.parts))));
                }
            }
            Kind::Open => return self.opened(id, payload),
            // What was under way when the stream ended here.
            _ if !known && self.was(id) => {}
            _ if !known => return Err(Violation::Stream(id)),
            Kind::Data => return self.came(id, payload),
            Kind::Credit => {
                let more = <[u8; 4]>::try_from(payload).map(u32::from_le_bytes);
                let more = more.map_err(|_| Violation::Contents(Kind::Credit))?;
                if let Some(stream) = self.streams.get_mut(&id)
                    && !stream.earn(more)
                {
                    return Err(Violation::Contents(Kind::Credit));
                }
                return Ok(Some(Event::Credit(id)));
            }
            Kind::End => {
                if !payload.is_empty() {
                    return Err(Violation::Contents(Kind::End));
                }
                if let Some(stream) = self.streams.get_mut(&id)
                    && !std::mem::take(&mut stream.hears)
                {
                    return Err(Violation::Stream(id));
                }
                self.settle(id);
                return Ok(Some(Event::End(id)));
            }
            Kind::Reset => {
                if !payload.is_empty() {
                    return Err(Violation::Contents(Kind::Reset));
                }
                // What the peer had said to its end is still passed on, and counts until it was.
                match self.streams.get_mut(&id) {
                    Some(stream) if !stream.hears && stream.waits() > 0 => stream.sends = false,
                    _ => _ = self.forget(id),
                }
                return Ok(Some(Event::Reset(id)));
            }
        }
        Ok(None)
    }

    /// The first frame. A guest hears one again where its machine was restored: its host is another
    /// then, and knows of no stream. A host hears it once.
    fn greeted(&mut self, payload: &[u8]) -> Result<Event<'static>, Violation> {
        if payload != self.role.peer().hello() {
            return Err(Violation::Hello);
        }
        let again = std::mem::replace(&mut self.greeted, true);
        if again {
            if self.role == Role::Host {
                return Err(Violation::Hello);
            }
            *self = Self::new(self.role);
            self.greeted = true;
        }
        Ok(Event::Hello)
    }

    fn opened<'a>(&mut self, id: u32, payload: &'a [u8]) -> Result<Option<Event<'a>>, Violation> {
        if self.is_own(id) || id <= self.last[1] {
            return Err(Violation::Stream(id));
        }
        self.last[1] = id;
        if self.theirs >= STREAMS {
            self.frame(id, Kind::Reset, &[]);
            return Ok(None);
        }
        self.theirs += 1;
        self.begin(id);
        Ok(Some(Event::Opened(id, payload)))
    }

    fn came<'a>(&mut self, id: u32, payload: &'a [u8]) -> Result<Option<Event<'a>>, Violation> {
        let Some(stream) = self.streams.get_mut(&id) else {
            return Ok(None);
        };
        if !stream.hears {
            return Err(Violation::Stream(id));
        }
        if payload.is_empty() {
            return Err(Violation::Contents(Kind::Data));
        }
        if !stream.came(payload.len()) {
            return Err(Violation::Window(id));
        }
        Ok(Some(Event::Data(id, payload)))
    }
}

#[cfg(test)]
#[path = "mux_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "mux_property_tests.rs"]
mod property_tests;
