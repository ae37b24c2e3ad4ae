//! Program images: what is accepted lies in its place and in its file, segments are apart and never
//! writable and executable, each header that is to be mapped is; what follows the image's bytes
//! changes nothing.
#![no_main]

use bailiwick_capos_core::elf::{Image, Invalid};
use bailiwick_capos_core::layout::{IMAGE_BASE, IMAGE_LIMIT, PAGE, TLS_BASE, TLS_LIMIT};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let image = match Image::parse(file) {
        Ok(image) => image,
        Err(Invalid::Segment(number, fault)) => {
            assert!(
                u32::from(number) < headers(file).count() as u32,
                "{number}: {fault}"
            );
            return;
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let size = file.len() as u64;
    let mut end = IMAGE_BASE;
    for segment in &image.segments {
        let (first, last) = segment.pages();
        assert!(
            first >= end && last <= IMAGE_LIMIT,
            "out of its place, or shares a page"
        );
        assert!(first <= segment.vaddr && segment.vaddr + segment.memsz <= last);
        assert_eq!((first % PAGE, last % PAGE), (0, 0));
        end = last;
        assert!(segment.filesz <= segment.memsz && segment.memsz > 0);
        assert!(
            segment
                .offset
                .checked_add(segment.filesz)
                .is_some_and(|end| end <= size)
        );
        assert_eq!(segment.offset % PAGE, segment.vaddr % PAGE);
        assert!(
            !(segment.write && segment.execute),
            "writable and executable"
        );
    }
    let entry = |s: &&bailiwick_capos_core::elf::Segment| {
        s.execute && (s.vaddr..s.vaddr + s.memsz).contains(&image.entry)
    };
    assert_eq!(
        image.segments.iter().filter(entry).count(),
        1,
        "the entry is not executable"
    );
    if let Some(tls) = image.tls {
        assert!(tls.filesz <= tls.memsz && tls.memsz < TLS_LIMIT - TLS_BASE);
        assert!(tls.align.is_power_of_two() && tls.align <= PAGE);
        assert!(tls.offset + tls.filesz <= size);
    }
    // Each header that is to be mapped is, with its rights.
    let mapped: Vec<_> = headers(file).filter(|h| h.0 == 1 && h.3 != 0).collect();
    assert_eq!(mapped.len(), image.segments.len());
    for (_, flags, vaddr, memsz) in mapped {
        let found = image
            .segments
            .iter()
            .find(|s| s.vaddr == vaddr)
            .expect("a segment");
        assert_eq!((found.memsz, found.write), (memsz, flags & 2 != 0));
        assert_eq!(found.execute, flags & 1 != 0);
    }
    assert_eq!(
        image.tls.is_some(),
        headers(file).any(|header| header.0 == 7)
    );
    let longer = [file, &[0xff; 64]].concat();
    assert_eq!(Image::parse(&longer), Ok(image));
});

/// Kind, flags, address and bytes in memory of each program header that is in the file.
fn headers(file: &[u8]) -> impl Iterator<Item = (u32, u32, u64, u64)> {
    let number = |at: usize, bytes: usize| {
        let bytes = file.get(at..at + bytes).unwrap_or_default();
        bytes
            .iter()
            .rev()
            .fold(0u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let (start, size, count) = (
        number(32, 8) as usize,
        number(54, 2) as usize,
        number(56, 2),
    );
    (0..count as usize)
        .filter_map(move |index| start.checked_add(index * size))
        .filter(|at| at.checked_add(56).is_some_and(|end| end <= file.len()))
        .map(move |at| {
            let word = |at| number(at, 4) as u32;
            (
                word(at),
                word(at + 4),
                number(at + 16, 8),
                number(at + 40, 8),
            )
        })
}
