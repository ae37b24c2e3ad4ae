//! The pieces in which bytes come from a network.

/// Cuts bytes into pieces of a few to many bytes; another number, other places.
pub fn pieces(seed: u8, mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut state = u32::from(seed).wrapping_mul(0x9e37_79b9) | 1;
    while !bytes.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let most = 1 << (state >> 24 & 7);
        let size = 1 + (state >> 16) as usize % most;
        let (piece, rest) = bytes.split_at(size.min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}
