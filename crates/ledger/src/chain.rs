//! The hash chain. Each row's hash covers every row before it, so that no row can be changed,
//! left out or put in without changing the last hash, which is kept elsewhere as well. The first
//! link is the session's name: a whole record cannot be passed off as another session's.

use bailiwick_event::SessionId;
use std::fmt::Write as _;

/// BLAKE3.
pub(crate) type Hash = [u8; 32];

/// What the first row is chained to.
pub(crate) fn genesis(id: &SessionId) -> Hash {
    *blake3::hash(id.as_str().as_bytes()).as_bytes()
}

/// The hash of the row that follows `previous`.
pub(crate) fn link(previous: &Hash, row: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(previous);
    hasher.update(row);
    *hasher.finalize().as_bytes()
}

/// A hash in hexadecimal.
pub(crate) fn hex(hash: &Hash) -> String {
    let mut text = String::with_capacity(64);
    for byte in hash {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
