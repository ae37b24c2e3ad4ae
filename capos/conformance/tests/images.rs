//! Program images and frames, compared with the published library.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bailiwick_capos_core::elf::{Fault, Image, Invalid};
use bailiwick_capos_core::frames::Bitmap;
use capos_lib::frame_bitmap::FrameBitmap;
use proptest::prelude::*;

/// A program header: kind, flags, offset, address, bytes in the file and in memory, alignment.
type Header = (u32, u32, u64, u64, u64, u64, u64);

fn file(entry: u64, headers: &[Header]) -> Vec<u8> {
    let mut file = vec![0; 0x4000];
    file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    file[16] = 2;
    file[18] = 62;
    file[24..32].copy_from_slice(&entry.to_le_bytes());
    file[32] = 64;
    file[54] = 56;
    file[56] = headers.len() as u8;
    for (number, header) in headers.iter().enumerate() {
        let (kind, flags, offset, vaddr, filesz, memsz, align) = *header;
        let at = 64 + number * 56;
        file[at..at + 4].copy_from_slice(&kind.to_le_bytes());
        file[at + 4..at + 8].copy_from_slice(&flags.to_le_bytes());
        for (field, value) in [offset, vaddr, vaddr, filesz, memsz, align]
            .iter()
            .enumerate()
        {
            file[at + 8 + field * 8..at + 16 + field * 8].copy_from_slice(&value.to_le_bytes());
        }
    }
    file
}

fn headers() -> impl Strategy<Value = Header> {
    let kind = prop_oneof![4 => Just(1u32), 1 => Just(7), 1 => Just(0x6474_e551)];
    let flags = prop_oneof![Just(4u32), Just(5), Just(6), 0u32..8];
    let page = (0u64..6).prop_map(|page| 0x20_0000 + page * 0x1000);
    let sizes = (0u64..0x400, 0u64..0x1200);
    let align = prop_oneof![4 => Just(0x1000u64), 1 => Just(0), 1 => any::<u64>()];
    (kind, flags, 0u64..0x3000, page, sizes, align, 0u8..20).prop_map(
        |(kind, flags, offset, page, (filesz, memsz), align, odd)| {
            let vaddr = page | offset & 0xfff | u64::from(odd == 0);
            (kind, flags, offset, vaddr, filesz, memsz.max(filesz), align)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// What we map, the published loader maps in the same way; what we refuse, it refuses too,
    /// unless it is one of the reasons that are our own.
    #[test]
    fn an_image_is_read_as_published(
        list in proptest::collection::vec(headers(), 0..4), inside in 0u64..0x400
    ) {
        let first = list.iter().find(|header| header.1 & 1 != 0);
        let bytes = file(first.map_or(0, |header| header.3) + inside, &list);
        let theirs = capos_lib::elf::parse(&bytes);
        let ours = match Image::parse(&bytes) {
            Ok(ours) => ours,
            Err(error) => {
                let own = matches!(
                    error,
                    Invalid::Empty
                        | Invalid::Segment(_, Fault::WriteExecute | Fault::Place | Fault::Align)
                );
                prop_assert!(theirs.is_err() || own, "{error:?} and {theirs:?}");
                return Ok(());
            }
        };
        prop_assert!(theirs.is_ok(), "{theirs:?}");
        let theirs = theirs.unwrap();
        prop_assert_eq!(ours.entry, theirs.entry);
        let published = theirs.segments.iter().filter(|s| s.memsz != 0);
        let published: Vec<_> = published
            .map(|s| (s.vaddr, s.memsz, s.offset, s.filesz, s.flags & 3))
            .collect();
        let read = ours.segments.iter().map(|s| {
            let flags = u32::from(s.execute) | u32::from(s.write) << 1;
            (s.vaddr, s.memsz, s.offset, s.filesz, flags)
        });
        prop_assert_eq!(read.collect::<Vec<_>>(), published);
        let tls = ours.tls.map(|tls| (tls.vaddr, tls.offset, tls.filesz, tls.memsz));
        let published = theirs.tls.map(|tls| (tls.vaddr, tls.offset, tls.filesz, tls.memsz));
        prop_assert_eq!(tls, published);
    }

    #[test]
    fn frames_are_taken_in_the_published_order(
        frames in 1usize..200,
        acts in proptest::collection::vec((any::<bool>(), 0usize..200), 0..200),
    ) {
        let mut words = [0; 4];
        let mut ours = Bitmap::new(&mut words, frames);
        ours.free_range(0..frames);
        let mut bytes = [0; 32];
        let mut theirs = FrameBitmap::new(&mut bytes, frames, frames);
        for (take, frame) in acts {
            if take {
                prop_assert_eq!(ours.take(), theirs.alloc_frame());
            } else {
                prop_assert_eq!(ours.give(frame).is_ok(), theirs.free_frame(frame).is_ok());
            }
            prop_assert_eq!(ours.available(), theirs.free_count());
        }
    }
}
