use super::*;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn raw(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// A brotli stream without compression: meta-blocks that hold their bytes as they are (RFC 7932
/// §9.2).
fn brotli(bytes: &[u8]) -> Vec<u8> {
    // WBITS 16 is one bit, 0.
    let (mut out, mut bits, mut n) = (Vec::new(), 0_u64, 1);
    for part in bytes.chunks(65_536) {
        // ISLAST 0, MNIBBLES 4, MLEN - 1, ISUNCOMPRESSED 1.
        bits |= (part.len() as u64 - 1) << (n + 3) | 1 << (n + 19);
        n += 20;
        while n > 0 {
            out.push(bits as u8);
            bits >>= 8;
            n = (n - 8).max(0);
        }
        bits = 0;
        out.extend(part);
    }
    // ISLAST, ISLASTEMPTY.
    out.push((bits | 3 << n) as u8);
    out
}

/// What comes of a body in such parts, and whether it is cut.
fn decoded(coding: Coding, bytes: &[u8], size: usize, limit: usize) -> (Vec<u8>, bool) {
    let mut decoder = Decoder::new(coding, limit);
    let mut all = Vec::new();
    for part in bytes.chunks(size.max(1)) {
        all.extend(decoder.decode(part));
    }
    all.extend(decoder.finish());
    (all, decoder.is_cut())
}

proptest! {
    #[test]
    fn what_was_coded_comes_out_whatever_the_parts(
        bytes in proptest::collection::vec(0u8..4, 0..20_000), size in 1usize..3000,
    ) {
        for (coding, coded) in [
            (Coding::Identity, bytes.clone()),
            (Coding::Gzip, gzip(&bytes)),
            (Coding::Deflate, zlib(&bytes)),
            (Coding::Deflate, raw(&bytes)),
            (Coding::Brotli, brotli(&bytes)),
            (Coding::Zstandard, zstandard(&bytes)),
        ] {
            prop_assert_eq!(decoded(coding, &coded, size, 1 << 20), (bytes.clone(), false), "{:?}", coding);
        }
    }

    #[test]
    fn what_is_broken_gives_no_more_than_the_limit(
        bytes in proptest::collection::vec(any::<u8>(), 0..3000), size in 1usize..500, limit in 0usize..2000,
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstandard, Coding::Identity, Coding::Unknown] {
            prop_assert!(decoded(coding, &bytes, size, limit).0.len() <= limit);
        }
        for (coding, mut coded) in [(Coding::Gzip, gzip(&bytes)), (Coding::Zstandard, zstandard(&bytes))] {
            for (at, value) in &flips {
                let at = at.index(coded.len());
                coded[at] ^= value;
            }
            prop_assert!(decoded(coding, &coded, size, limit).0.len() <= limit);
        }
    }
}

#[test]
fn a_bomb_ends_at_the_limit_and_is_said_to_be_cut() {
    let zeros = vec![0; 50 << 20];
    for (coding, bomb) in [
        (Coding::Gzip, gzip(&zeros)),
        (Coding::Deflate, zlib(&zeros)),
        (Coding::Zstandard, zstandard(&zeros)),
    ] {
        let (out, cut) = decoded(coding, &bomb, 16 * 1024, 100_000);
        assert!(cut && out.len() <= 100_000, "{coding:?} {}", out.len());
    }
    // Blocks of one repeated byte, 128 KiB of four bytes each (RFC 8878 §3.1.1.2.2), in a frame that
    // asks for a window of a terabyte.
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf0];
    for _ in 0..20_000 {
        bomb.extend([0x02, 0x00, 0x10, 0x00]);
    }
    let (out, cut) = decoded(Coding::Zstandard, &bomb, 16 * 1024, 1 << 20);
    assert!(cut && out.len() <= 1 << 20);
}

#[test]
fn the_coding_is_what_one_header_says() {
    let of = |values: &[&str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(CONTENT_ENCODING, value.parse().unwrap());
        }
        Coding::of(&headers)
    };
    assert_eq!(of(&[]), Coding::Identity);
    assert_eq!(of(&["GZip"]), Coding::Gzip);
    assert_eq!(of(&["br"]), Coding::Brotli);
    assert_eq!(of(&[" zstd "]), Coding::Zstandard);
    assert_eq!(of(&["gzip, br"]), Coding::Unknown);
    assert_eq!(of(&["gzip", "gzip"]), Coding::Unknown);
}

#[test]
fn what_is_flushed_comes_out_before_the_end() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"data: one\n\n").unwrap();
    encoder.flush().unwrap();
    let first = encoder.get_ref().clone();
    let mut decoder = Decoder::new(Coding::Gzip, 1000);
    assert_eq!(decoder.decode(&first), b"data: one\n\n");
}
