use super::hash::{CHUNKS, ROOT, chunk, root};
use super::*;
use std::vec::Vec;

/// Divisions that trial division makes for a number: one by 2, those by odd numbers.
fn steps(number: u32) -> u64 {
    let mut count = u64::from(number > 2);
    let mut divisor = 3;
    if number.is_multiple_of(2) {
        return count;
    }
    while divisor * divisor <= number {
        count += 1;
        if number.is_multiple_of(divisor) {
            break;
        }
        divisor += 2;
    }
    count
}

#[test]
fn small_ranges_are_counted() {
    assert_eq!(primes(0, 30), (10, 129));
    assert_eq!(primes(24, 29), (0, 0));
    assert_eq!(primes(3, 3), (0, 0));
    assert_eq!(primes(4_294_967_290, u32::MAX), (1, 4_294_967_291));
}

#[test]
fn the_parts_make_the_whole() {
    for workers in [1, 2, 4, 8] {
        let cuts = cuts(workers).unwrap();
        assert_eq!(
            (cuts.len(), cuts[0], cuts[workers]),
            (workers + 1, FROM, TO)
        );
        assert!(cuts.is_sorted());
    }
    assert_eq!((cuts(0), cuts(3), cuts(16)), (None, None, None));
    let parts: Vec<(u64, u64)> = cuts(8)
        .unwrap()
        .windows(2)
        .map(|part| primes(part[0], part[1]))
        .collect();
    let sum = parts
        .iter()
        .fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    assert_eq!(sum, (COUNT, CHECKSUM));
}

#[test]
fn the_parts_are_the_same_work() {
    let parts: Vec<u64> = cuts(8)
        .unwrap()
        .windows(2)
        .map(|part| (part[0]..part[1]).map(steps).sum())
        .collect();
    let sum: u64 = parts.iter().sum();
    assert_eq!(sum, 161_131_523);
    let mean = sum / 8;
    for part in &parts {
        assert!(part.abs_diff(mean) * 1000 <= mean, "{parts:?}");
    }
}

#[test]
fn the_corpus_has_the_hash_that_another_program_computed() {
    let hex = |hash: [u8; 32]| u64::from_be_bytes(hash[..8].try_into().unwrap());
    assert_eq!(hex(chunk(0)), 0xc63c_b5c9_7c7d_cd07);
    assert_eq!(hex(chunk(511)), 0x6d66_a296_0357_6ac1);
    let hashes: Vec<[u8; 32]> = (0..CHUNKS).map(chunk).collect();
    assert_eq!(root(&hashes), ROOT);
}
