//! What a method answers when it fails: a kind and a sentence.
//!
//! Decision: where the sentence does not fit into the caller's buffer the kind still is told, by
//! the ring's own code for a cut exception; a caller never reads half a message.

use crate::message::{Builder, Malformed, Message};
use alloc::vec::Vec;

/// The kinds of the schema's `ExceptionType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// It went wrong.
    Failed = 0,
    /// There is not enough of something now.
    Overloaded = 1,
    /// Who should have answered is gone.
    Disconnected = 2,
    /// There is no such method.
    Unimplemented = 3,
    /// The arguments make no sense.
    InvalidArgument = 4,
}

/// The message of an exception.
pub fn write(kind: Kind, text: &str) -> Vec<u8> {
    let mut builder = Builder::new(1, 1);
    let root = builder.root();
    builder.set_u16(root, 0, kind as u16);
    builder.set_text(root, 0, text);
    builder.finish()
}

/// The kind and the sentence of a message. A kind that is not known has failed.
pub fn read(bytes: &[u8]) -> Result<(Kind, &str), Malformed> {
    let message = Message::parse(bytes)?;
    let root = message.root()?;
    let kind = match root.u16(0) {
        1 => Kind::Overloaded,
        2 => Kind::Disconnected,
        3 => Kind::Unimplemented,
        4 => Kind::InvalidArgument,
        _ => Kind::Failed,
    };
    Ok((kind, root.text(0)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_reads_back() {
        for kind in [Kind::Failed, Kind::Overloaded, Kind::InvalidArgument] {
            assert_eq!(read(&write(kind, "no room")), Ok((kind, "no room")));
        }
    }
}
