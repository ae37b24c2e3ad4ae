//! The bytes that `bailiwick-guest stream` says and `bulk.workspace` writes, compared as they come.

use std::io::Read;

/// Bytes that are read at a time.
const PIECE: usize = 256 * 1024;

/// Reads to the end; how many known bytes there were, or where they differ.
pub(super) fn compare(from: &mut impl Read) -> Result<u64, String> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let (mut expected, mut found) = (vec![0; PIECE], Vec::with_capacity(PIECE));
    let mut read = 0;
    loop {
        found.clear();
        let length = from
            .by_ref()
            .take(PIECE as u64)
            .read_to_end(&mut found)
            .map_err(|error| format!("after {read} bytes: {error}"))?;
        for word in expected.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        let same = expected.iter().zip(&found).take_while(|(a, b)| a == b);
        let same = same.count();
        if same < length {
            return Err(format!("byte {} is another", read + same as u64));
        }
        read += length as u64;
        if length < PIECE {
            return Ok(read);
        }
    }
}

/// So many known bytes, all of them.
pub(super) fn whole(from: &mut impl Read, bytes: u64) -> Result<String, String> {
    match compare(from)? {
        read if read == bytes => Ok(format!("{bytes} bytes, each as it was said")),
        read => Err(format!("{read} of {bytes} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_changed_is_found_and_so_is_one_that_is_missing() {
        // The first words, as crates/guest/src/doctor/bulk.rs makes them.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut bytes = Vec::new();
        for _ in 0..100_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.extend_from_slice(&state.to_le_bytes());
        }
        assert!(whole(&mut bytes.as_slice(), 800_000).is_ok());
        let missing = whole(&mut &bytes[..799_999], 800_000);
        assert_eq!(missing, Err("799999 of 800000 bytes".to_owned()));
        bytes[700_001] ^= 1;
        let changed = whole(&mut bytes.as_slice(), 800_000);
        assert_eq!(changed, Err("byte 700001 is another".to_owned()));
    }
}
