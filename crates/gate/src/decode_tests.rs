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

/// Bits, the lowest first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    n: usize,
}

impl Bits {
    fn push(&mut self, value: u32, count: usize) {
        for at in 0..count {
            if self.n.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.last_mut().unwrap();
            *last |= ((value >> at & 1) as u8) << (self.n % 8);
            self.n += 1;
        }
    }
}

/// A brotli stream of so many times 16 MiB: in each meta-block one byte, and a copy of it over all
/// that is left (RFC 7932 §9.2, §9.3).
fn brotli_bomb(blocks: usize) -> Vec<u8> {
    const LENGTH: u32 = 1 << 24;
    let mut bits = Bits::default();
    // A window of 4 MiB.
    bits.push(0b1011, 4);
    for _ in 0..blocks {
        // Not the last, its length of six nibbles, compressed.
        bits.push(0, 1);
        bits.push(2, 2);
        bits.push(LENGTH - 1, 24);
        bits.push(0, 1);
        // One type of block each, no direct distances, one context and one tree each.
        bits.push(0, 3 + 2 + 4 + 2 + 2);
        // Codes of one symbol: a literal, an insert of one with the longest copy, the distance 1 or 2.
        for (symbol, width) in [(0, 8), (384 + 8 + 7, 10), (16, 6)] {
            bits.push(1, 2);
            bits.push(0, 2);
            bits.push(symbol, width);
        }
        bits.push(LENGTH - 1 - 2118, 24);
        bits.push(0, 1);
    }
    bits.push(3, 2);
    bits.bytes
}

fn room() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(64 << 20))
}

/// What comes of a part, step by step.
fn steps(decoder: &mut Decoder, part: &[u8], all: &mut Vec<u8>) {
    decoder.take(&Bytes::copy_from_slice(part));
    while let Some(new) = decoder.step() {
        assert!(new.len() <= STEP.max(part.len()));
        all.extend_from_slice(&new);
    }
}

/// What comes of a body in such parts, and whether it is cut.
fn decoded(coding: Coding, bytes: &[u8], size: usize, limit: usize) -> (Vec<u8>, bool) {
    let mut decoder = Decoder::new(coding, limit, &room());
    let mut all = Vec::new();
    for part in bytes.chunks(size.max(1)) {
        steps(&mut decoder, part, &mut all);
    }
    decoder.end();
    while let Some(new) = decoder.step() {
        all.extend_from_slice(&new);
    }
    (all, decoder.is_cut())
}

/// The most bytes of a step, how much came in all of as many as are asked for, and the most that was
/// taken of the room.
fn walked(coding: Coding, bomb: Vec<u8>, limit: usize, most: usize) -> (usize, usize, usize) {
    let all = room();
    let mut decoder = Decoder::new(coding, limit, &all);
    decoder.take(&bomb.into());
    let (mut largest, mut sum, mut held) = (0, 0, 0);
    while let Some(new) = decoder.step() {
        largest = largest.max(new.len());
        sum += new.len();
        held = held.max((64 << 20) - all.available_permits());
        if sum >= most {
            break;
        }
    }
    (largest, sum, held)
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
    let mut decoder = Decoder::new(Coding::Gzip, 1000, &room());
    let mut all = Vec::new();
    steps(&mut decoder, &first, &mut all);
    assert_eq!(all, b"data: one\n\n");
}

#[test]
fn what_is_small_and_stands_for_a_gigabyte_comes_in_small_steps_and_takes_little() {
    let bomb = brotli_bomb(64);
    assert!(bomb.len() < 1000);
    let most = 48 << 20;
    let (largest, sum, held) = walked(Coding::Brotli, bomb, 1 << 30, most);
    assert!(largest <= STEP && sum >= most, "{largest} {sum}");
    assert!((4 << 20..6 << 20).contains(&held), "{held}");
    let zeros = vec![0; 48 << 20];
    for (coding, bomb) in [
        (Coding::Gzip, gzip(&zeros)),
        (Coding::Deflate, zlib(&zeros)),
        (Coding::Deflate, raw(&zeros)),
        (Coding::Zstandard, zstandard(&zeros)),
    ] {
        let (largest, sum, held) = walked(coding, bomb, 1 << 30, usize::MAX);
        assert!(largest <= STEP && sum == zeros.len(), "{coding:?} {sum}");
        assert!(held < 20 << 20, "{coding:?} {held}");
    }
}

#[test]
fn a_brotli_bomb_ends_with_its_last_byte() {
    let (out, cut) = decoded(Coding::Brotli, &brotli_bomb(2), 7, 1 << 30);
    assert!(!cut && out.len() == 32 << 20 && out.iter().all(|byte| *byte == 0));
    let (out, cut) = decoded(Coding::Brotli, &brotli_bomb(2), 7, 1 << 20);
    assert!(cut && out.len() == 1 << 20);
}

#[test]
fn windows_of_brotli_that_are_no_standards_are_not_taken() {
    // 1, 000, 100, 0, and a window of 30 bits.
    let mut bits = Bits::default();
    bits.push(0b0001_0001, 8);
    bits.push(30, 6);
    bits.push(0b11, 2);
    assert_eq!(
        decoded(Coding::Brotli, &bits.bytes, 1, 1000),
        (vec![], true)
    );
}

/// A frame of a window of 128 KiB that begins with eight bytes.
fn frame() -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3];
    frame.extend([8 << 3, 0, 0]);
    frame.extend(b"abcdefgh");
    frame
}

#[test]
fn a_block_of_zstandard_is_no_larger_than_blocks_are() {
    // No literals, and a thousand copies of 128 KiB each in codes of one symbol (RFC 8878 §3.1.1.3.2).
    let mut block = vec![0x00, 0x80 + 3, 0xe8, 0x54, 0, 0, 52];
    block.extend([0xff; 2000]);
    block.push(1);
    let header = (block.len() as u32) << 3 | 2 << 1 | 1;
    let mut bomb = frame();
    bomb.extend(&header.to_le_bytes()[..3]);
    bomb.extend(block);
    let (out, cut) = decoded(Coding::Zstandard, &bomb, 100, 1 << 30);
    assert!(cut && out.len() <= 8, "{}", out.len());
}

#[test]
fn zstandard_comes_out_as_it_comes_and_keeps_no_more_than_its_window() {
    // 64 MiB of blocks of one repeated byte.
    let block = [0x02, 0x00, 0x10, 0x00];
    let mut decoder = Decoder::new(Coding::Zstandard, 1 << 30, &room());
    let mut all = Vec::new();
    steps(&mut decoder, &frame(), &mut all);
    for n in 0..512 {
        steps(&mut decoder, &block, &mut all);
        assert!(all.len() >= n * 128 * 1024);
        assert!(decoder.share.held() < 1 << 20);
    }
    // A window of 16 MiB is more than HTTP allows: no more than 8 MiB are kept for it.
    let mut wide = frame();
    wide[5] = 14 << 3;
    let whole = [&wide[..], &[0x03, 0x00, 0x10, 0x00]].concat();
    let (out, cut) = decoded(Coding::Zstandard, &whole, 1, 1 << 20);
    assert!(!cut && out.len() == 8 + 128 * 1024);
    let bomb = [wide, block.repeat(127)].concat();
    let (largest, sum, held) = walked(Coding::Zstandard, bomb, 1 << 30, usize::MAX);
    assert!(largest == 0 && sum == 0 && held < 20 << 20, "{sum} {held}");
}

#[test]
fn where_there_is_no_room_to_decode_nothing_is_kept() {
    for (coding, body) in [
        (Coding::Gzip, gzip(b"some")),
        (Coding::Brotli, brotli_bomb(1)),
        (Coding::Zstandard, frame()),
    ] {
        let room = Arc::new(Semaphore::new(64 << 10));
        let mut decoder = Decoder::new(coding, 1 << 20, &room);
        let mut all = Vec::new();
        steps(&mut decoder, &body, &mut all);
        assert!(decoder.is_cut(), "{coding:?}");
        steps(&mut decoder, &[0; 100_000], &mut all);
        assert_eq!(room.available_permits(), 64 << 10);
        assert!(all.len() <= STEP);
    }
}

#[test]
fn a_brotli_body_without_its_end_hides_nothing_and_is_cut() {
    let mut seed: u32 = 1;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    })
    .take(200_000)
    .collect();
    let coded = brotli(&noise);
    let unfinished = &coded[..coded.len() - 1];
    for size in [unfinished.len(), 1000] {
        let (out, cut) = decoded(Coding::Brotli, unfinished, size, 1 << 20);
        assert!(cut, "{size}");
        assert!(out.len() > 190_000, "{size}: {}", out.len());
        assert_eq!(out, noise[..out.len()]);
    }
    assert_eq!(
        decoded(Coding::Brotli, &coded, coded.len(), 1 << 20),
        (noise, false)
    );
    assert!(
        !decoded(Coding::Brotli, b"", 1, 1 << 20).1,
        "nothing is no unfinished body"
    );
}
