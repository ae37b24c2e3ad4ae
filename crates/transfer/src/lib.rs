//! Files on their way between a host and a guest: a folder as a stream of entries, with their contents
//! or without (a listing).
//!
//! Decision: a format of our own instead of an archive's: times have nanoseconds, by which a change is
//! seen; an entry can say that something is gone or could not be read; and every length is bounded
//! before it is believed, because a guest writes what a host reads.

mod compare;
mod entry;
mod pack;
mod stream;
mod unpack;

pub use compare::{Change, Changes, Listing, Room, compare, with_above};
pub use entry::{BadPath, Entry, Kind, Modified};
pub use pack::{Only, pack};
pub use stream::{Part, Reader, Writer};
pub use unpack::{Outcome, Unpacker, What};

#[cfg(test)]
mod tree;
