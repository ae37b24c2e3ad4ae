//! Hashing a corpus in chunks.
//!
//! Decision: the corpus is computed from a counter, chunk by chunk, so that no run waits for a disk
//! and every system hashes the same bytes. The root is over the hashes in order, and so does not
//! depend on who hashed what when.

use sha2::{Digest, Sha256};

/// Bytes of a chunk.
pub const CHUNK: usize = 64 * 1024;
/// Chunks of the corpus, 32 MiB in all: about as long as the primes, and divided by 1, 2, 4 and 8.
pub const CHUNKS: u32 = 512;
/// The root of the whole corpus.
pub const ROOT: [u8; 32] = [
    0xe6, 0x97, 0x97, 0x7f, 0xcb, 0xac, 0x1f, 0x51, 0xc2, 0xc7, 0x1d, 0x37, 0x1b, 0xd4, 0xe8, 0xba,
    0x1d, 0xda, 0xc9, 0xa7, 0xa5, 0xab, 0xa3, 0xdb, 0xd1, 0x11, 0x53, 0x40, 0xba, 0x28, 0xb4, 0xad,
];

/// Spreads a counter over 64 bits: 2^64 divided by the golden ratio, odd.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The bytes of a chunk, 64 at a time: words of 64 bits, little-endian, the `n`th of the corpus
/// being `(n + 1) * SPREAD` modulo 2^64.
fn blocks(chunk: u32) -> impl Iterator<Item = [u8; 64]> {
    let first = u64::from(chunk) * (CHUNK / 8) as u64;
    (0..CHUNK as u64 / 64).map(move |block| {
        let mut bytes = [0; 64];
        for (word, place) in (1..).zip(bytes.chunks_exact_mut(8)) {
            let number = first + block * 8 + word;
            place.copy_from_slice(&number.wrapping_mul(SPREAD).to_le_bytes());
        }
        bytes
    })
}

/// The SHA-256 hash of a chunk of the corpus.
pub fn chunk(index: u32) -> [u8; 32] {
    let mut hash = Sha256::new();
    for block in blocks(index) {
        hash.update(block);
    }
    hash.finalize().into()
}

/// The SHA-256 hash of hashes in their order.
pub fn root(hashes: &[[u8; 32]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in hashes {
        hash.update(part);
    }
    hash.finalize().into()
}
