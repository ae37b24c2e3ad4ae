use super::*;
use proptest::prelude::*;
use std::vec::Vec;

/// A program header: kind, flags, offset, address, bytes in the file and in memory, alignment.
type Header = (u32, u32, u64, u64, u64, u64, u64);

const TEXT: Header = (LOAD, 5, 0x1000, 0x20_0000, 0x100, 0x100, 0x1000);
const DATA: Header = (LOAD, 6, 0x1100, 0x20_1100, 0x80, 0x2000, 0x1000);

fn file(entry: u64, headers: &[Header]) -> Vec<u8> {
    let mut file = std::vec![0; 0x2000];
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
            let at = at + 8 + field * 8;
            file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
    }
    file
}

fn fault(headers: &[Header]) -> Option<Invalid> {
    Image::parse(&file(0x20_0000, headers)).err()
}

#[test]
fn an_image_is_read() {
    let tls = (TLS, 4, 0x1100, 0x20_1100, 0x10, 0x20, 16);
    let image = Image::parse(&file(0x20_0010, &[DATA, TEXT, tls])).unwrap();
    assert_eq!(image.entry, 0x20_0010);
    let [text, data] = image.segments[..] else {
        panic!("{image:?}")
    };
    assert_eq!(
        (text.vaddr, text.write, text.execute),
        (0x20_0000, false, true)
    );
    assert_eq!(
        (data.vaddr, data.write, data.execute),
        (0x20_1100, true, false)
    );
    assert_eq!(data.pages(), (0x20_1000, 0x20_4000));
    assert_eq!(
        image.tls.map(|tls| (tls.memsz, tls.align)),
        Some((0x20, 16))
    );
}

#[test]
fn other_files_are_refused() {
    let with = |at: usize, value: u8| {
        let mut file = file(0x20_0000, &[TEXT]);
        file[at] = value;
        Image::parse(&file).err()
    };
    assert_eq!(Image::parse(&[0; 63]).err(), Some(Invalid::Short));
    assert_eq!(with(0, 0), Some(Invalid::Magic));
    assert_eq!(with(4, 1), Some(Invalid::Class));
    assert_eq!(with(5, 2), Some(Invalid::Class));
    assert_eq!(with(18, 3), Some(Invalid::Machine));
    assert_eq!(with(16, 3), Some(Invalid::Kind));
    assert_eq!(with(54, 55), Some(Invalid::Headers));
    assert_eq!(with(39, 0xff), Some(Invalid::Headers));
    assert_eq!(with(56, 33), Some(Invalid::TooMany(33)));
    assert_eq!(with(56, 0), Some(Invalid::Empty));
}

#[test]
fn a_segment_is_told_by_its_number() {
    let second = |header: Header| fault(&[TEXT, header]);
    let of = |fault| Some(Invalid::Segment(1, fault));
    let (kind, flags, offset, vaddr, filesz, memsz, align) = DATA;
    assert_eq!(
        second((kind, flags, offset, vaddr, 0xf00, memsz, align)),
        None
    );
    assert_eq!(
        second((kind, flags, offset, vaddr, 0xf01, memsz, align)),
        of(Fault::File)
    );
    assert_eq!(
        second((kind, flags, u64::MAX, vaddr, filesz, memsz, align)),
        of(Fault::File)
    );
    assert_eq!(
        second((kind, flags, offset, vaddr, filesz, 0x7f, align)),
        of(Fault::Size)
    );
    assert_eq!(
        second((kind, flags, offset, 0x1f_f100, filesz, memsz, align)),
        of(Fault::Place)
    );
    assert_eq!(
        second((kind, flags, offset, 0xff_f100, filesz, 0x80, align)),
        of(Fault::Place)
    );
    assert_eq!(
        second((kind, flags, offset, vaddr, filesz, u64::MAX, align)),
        of(Fault::Place)
    );
    assert_eq!(
        second((kind, flags, offset, vaddr + 1, filesz, memsz, align)),
        of(Fault::Offset)
    );
    assert_eq!(
        second((kind, flags, offset, vaddr, filesz, memsz, 3)),
        of(Fault::Align)
    );
    assert_eq!(
        second((kind, 7, offset, vaddr, filesz, memsz, align)),
        of(Fault::WriteExecute)
    );
    assert_eq!(
        second((INTERPRETER, 4, 0, 0, 0, 0, 0)),
        of(Fault::Interpreter)
    );
    assert_eq!(
        second((TLS, 4, 0, 0, 0, TLS_BYTES + 1, 0)),
        of(Fault::Place)
    );
    assert_eq!(second((TLS, 4, 0, 0, 0, 1, 8192)), of(Fault::Align));
    let tls = (TLS, 4, 0, 0, 0, 1, 0);
    assert_eq!(fault(&[tls, tls]), of(Fault::Twice));
}

#[test]
fn segments_share_no_page() {
    let behind = (LOAD, 4, 0x1100, 0x20_0100, 0x10, 0x10, 0);
    assert_eq!(fault(&[TEXT, behind]), Some(Invalid::Overlap(0, 1)));
    assert_eq!(fault(&[behind, TEXT]), Some(Invalid::Overlap(1, 0)));
    assert_eq!(
        fault(&[TEXT, (LOAD, 4, 0x1100, 0x20_1100, 0x10, 0x10, 0)]),
        None
    );
}

#[test]
fn the_entry_is_executable() {
    let of = |entry| Image::parse(&file(entry, &[TEXT, DATA])).err();
    assert_eq!(of(0x20_00ff), None);
    for outside in [0, 0x1f_ffff, 0x20_0100, 0x20_1100, u64::MAX] {
        assert_eq!(of(outside), Some(Invalid::Entry(outside)));
    }
}

proptest! {
    #[test]
    fn what_is_accepted_lies_in_its_place(
        headers in proptest::collection::vec(
            (
                prop_oneof![Just(LOAD), Just(TLS)],
                0u32..8,
                (0u64..0x2100),
                prop_oneof![0x1f_0000u64..0x24_0000, 0xfe_0000u64..0x101_0000, any::<u64>()],
                0u64..0x200,
                0u64..0x3000,
                prop_oneof![Just(0u64), Just(0x1000), any::<u64>()],
            ),
            0..4
        ),
        aligned: bool,
    ) {
        let headers: Vec<Header> = headers
            .into_iter()
            .map(|(kind, flags, offset, vaddr, filesz, memsz, align)| {
                let vaddr = if aligned { vaddr & !0xfff | offset & 0xfff } else { vaddr };
                (kind, flags, offset, vaddr, filesz, memsz, align)
            })
            .collect();
        let entry = headers.first().map_or(0, |header| header.3);
        if let Ok(image) = Image::parse(&file(entry, &headers)) {
            for segment in &image.segments {
                let (start, end) = segment.pages();
                prop_assert!(start >= IMAGE_BASE && end <= IMAGE_LIMIT && start < end);
                prop_assert!(!(segment.write && segment.execute));
                prop_assert!(segment.offset + segment.filesz <= 0x2000);
            }
            for pair in image.segments.windows(2) {
                prop_assert!(pair[0].pages().1 <= pair[1].pages().0);
            }
        }
    }
}
