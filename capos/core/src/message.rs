//! Messages in Cap'n Proto's encoding: parameters and results of calls, exceptions, the manifest.
//!
//! Decision: no generated code and no schema at run time. A reader of a few hundred lines follows
//! the public specification of the encoding, reads what it is asked for and checks each pointer when
//! it is followed, for a message comes from a program that may want the kernel to read elsewhere,
//! without end, or the same small list a billion times. So every pointer costs what it points at
//! from a budget, nesting has a limit, and nothing is copied. Lists of structs are read only in the
//! form that a writer of today gives them; defaults other than zero do not occur in these schemas.

mod builder;
mod pointer;
mod reader;

pub use builder::{Builder, LONGEST, ListAt, StructAt};
pub use reader::{List, Message, Struct};

/// Segments that a message may have.
pub const SEGMENTS: usize = 16;
/// Pointers that may be followed one below the other.
pub const NESTING: u32 = 32;
/// Words that may be read in all, at most: what the published reader allows.
pub const TRAVERSAL: u64 = 64 << 20;
/// Words that may be read of even the smallest message.
pub const TRAVERSAL_LEAST: u64 = 64;

/// Why bytes are no message, or a message is not what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The table of segments is cut off, or says more than there is.
    Framing,
    /// There are more than [`SEGMENTS`].
    Segments,
    /// A pointer leads out of its segment.
    Bounds,
    /// A far pointer leads to no segment, or to what is no landing pad.
    Far,
    /// A pointer is of another kind than what was asked for.
    Kind,
    /// A list's first word contradicts its size.
    List,
    /// A text does not end with NUL, or is not UTF-8.
    Text,
    /// Pointers are nested deeper than [`NESTING`].
    Depth,
    /// More words were read than the message can need.
    Traversal,
}

impl core::fmt::Display for Malformed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Framing => "the table of segments does not fit the message",
            Self::Segments => "there are too many segments",
            Self::Bounds => "a pointer leads out of its segment",
            Self::Far => "a far pointer leads nowhere",
            Self::Kind => "a pointer is of another kind",
            Self::List => "a list contradicts its size",
            Self::Text => "a text is not UTF-8 or does not end",
            Self::Depth => "it is nested too deep",
            Self::Traversal => "it repeats itself too often",
        })
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
