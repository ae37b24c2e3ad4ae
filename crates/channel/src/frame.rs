//! Frames: what stands before every piece of what crosses the channel.
//!
//! Decision: eight bytes and no checksum. The transport is memory shared with a virtual machine
//! monitor and loses nothing; what has to be kept out are a peer's lies, and a length, a stream and a
//! kind have few enough values that each can be checked when it is read.

use std::fmt;

/// Bytes of a header.
pub const HEADER: usize = 8;
/// The most that follows one, in bytes: with its header a frame fills one buffer of the guest
/// kernel's virtio console driver, which splits larger writes.
pub const PAYLOAD: usize = 32 * 1024 - HEADER;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The first frame of each side, and the first after a virtual machine was restored.
    Hello = 1,
    /// A message, or the last part of one.
    Message = 2,
    /// A part of a message that goes on.
    Part = 3,
    /// A stream begins.
    Open = 4,
    /// Bytes of a stream.
    Data = 5,
    /// The peer may send so many bytes more.
    Credit = 6,
    /// No more bytes follow in this direction.
    End = 7,
    /// A stream is over in both directions.
    Reset = 8,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Hello,
            2 => Self::Message,
            3 => Self::Part,
            4 => Self::Open,
            5 => Self::Data,
            6 => Self::Credit,
            7 => Self::End,
            8 => Self::Reset,
            _ => return None,
        })
    }

    /// Whether it belongs to a stream; the others belong to the channel.
    fn of_stream(self) -> bool {
        !matches!(self, Self::Hello | Self::Message | Self::Part)
    }
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The stream; 0 for what belongs to none.
    pub stream: u32,
    /// What follows.
    pub kind: Kind,
    /// How many bytes of it.
    pub length: usize,
}

impl Header {
    /// As it is sent. `length` is at most [`PAYLOAD`].
    #[must_use]
    pub fn bytes(self) -> [u8; HEADER] {
        let [a, b, c, d] = self.stream.to_le_bytes();
        let length = u32::try_from(self.length).unwrap_or(u32::MAX);
        let [e, f, g, _] = length.to_le_bytes();
        [a, b, c, d, self.kind as u8, e, f, g]
    }

    /// Reads one.
    ///
    /// # Errors
    /// A [`Violation`] where no honest peer sends it.
    pub fn read(bytes: [u8; HEADER]) -> Result<Self, Violation> {
        let [a, b, c, d, kind, e, f, g] = bytes;
        let stream = u32::from_le_bytes([a, b, c, d]);
        let kind = Kind::of(kind).ok_or(Violation::Kind(kind))?;
        let length = u32::from_le_bytes([e, f, g, 0]) as usize;
        if length > PAYLOAD {
            return Err(Violation::Length(length));
        }
        if kind.of_stream() == (stream == 0) {
            return Err(Violation::Stream(stream));
        }
        Ok(Self {
            stream,
            kind,
            length,
        })
    }
}

/// What no honest peer does. The channel is over then: where one frame was wrong nobody knows what
/// the next one means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A kind of frame that there is not.
    Kind(u8),
    /// A frame that is too long.
    Length(usize),
    /// A frame of a stream that cannot have it.
    Stream(u32),
    /// A frame whose contents mean nothing.
    Contents(Kind),
    /// More bytes than the peer was allowed to send.
    Window(u32),
    /// A message that is too long.
    Message,
    /// The first frame was none of a peer of this version.
    Hello,
    /// A message out of turn.
    Turn,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "a frame of the unknown kind {kind}"),
            Self::Length(length) => write!(f, "a frame of {length} bytes; {PAYLOAD} is the most"),
            Self::Stream(stream) => write!(f, "a frame that stream {stream} cannot have"),
            Self::Contents(kind) => write!(f, "contents that a {kind:?} frame cannot have"),
            Self::Window(stream) => write!(f, "more bytes of stream {stream} than were allowed"),
            Self::Message => write!(f, "a message that is too long"),
            Self::Hello => write!(f, "not this version of the protocol"),
            Self::Turn => write!(f, "a message out of turn"),
        }
    }
}

impl std::error::Error for Violation {}
