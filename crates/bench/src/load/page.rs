//! What the origin serves, known to both ends: each byte of an answer is compared, so that a figure
//! never stands for an answer that somebody else gave, or that came cut.

use hyper::body::Bytes;
use std::sync::OnceLock;

/// The page.
pub(crate) const PAGE: &str = "bailiwick bench\n";
/// Its path.
pub(crate) const PAGE_PATH: &str = "/page";
/// Bodies of a length are below this path.
pub(crate) const BODY_PATH: &str = "/body/";
/// How much of a body is written at once.
pub(crate) const PIECE: usize = 64 * 1024;

/// What bodies are made of, again and again: the words of a generator, which no coding can shorten.
pub(crate) fn piece() -> Bytes {
    static PIECE_OF: OnceLock<Bytes> = OnceLock::new();
    let make = || {
        let mut word = 0x9e37_79b9_7f4a_7c15_u64;
        let next = |_| {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            word.to_le_bytes()
        };
        (0..PIECE / 8).flat_map(next).collect::<Vec<u8>>().into()
    };
    PIECE_OF.get_or_init(make).clone()
}

/// Whether `data` is what a body has from `at` on.
pub(crate) fn is_body(at: u64, data: &[u8]) -> bool {
    let piece = piece();
    let mut from = (at % PIECE as u64) as usize;
    let mut rest = data;
    while !rest.is_empty() {
        let length = rest.len().min(PIECE - from);
        if rest[..length] != piece[from..from + length] {
            return false;
        }
        rest = &rest[length..];
        from = 0;
    }
    true
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
