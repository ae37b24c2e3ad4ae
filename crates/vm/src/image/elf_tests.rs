use super::has_pvh_entry;
use proptest::prelude::*;

/// An ELF file with one segment of notes.
fn elf(notes: &[u8]) -> Vec<u8> {
    let mut file = vec![0; 64];
    file[..6].copy_from_slice(b"\x7fELF\x02\x01");
    file[18] = 62;
    file[32] = 64;
    file[54] = 56;
    file[56] = 1;
    let mut header = [0u8; 56];
    header[0] = 4;
    header[8..16].copy_from_slice(&120u64.to_le_bytes());
    header[32..40].copy_from_slice(&(notes.len() as u64).to_le_bytes());
    file.extend(header);
    file.extend(notes);
    file
}

fn note(name: &[u8], kind: u32, content: &[u8]) -> Vec<u8> {
    let mut note = Vec::new();
    for number in [name.len() as u32, content.len() as u32, kind] {
        note.extend(number.to_le_bytes());
    }
    for bytes in [name, content] {
        note.extend(bytes);
        note.resize(note.len().next_multiple_of(4), 0);
    }
    note
}

#[test]
fn a_kernel_with_the_note_is_one() {
    let entry = note(b"Xen\0", 18, &[0; 4]);
    let other = note(b"Linux\0", 257, b"x");
    assert!(has_pvh_entry(&elf(&entry)));
    assert!(has_pvh_entry(
        &elf(&[other.clone(), entry.clone()].concat())
    ));
    assert!(!has_pvh_entry(&elf(&other)));
    assert!(!has_pvh_entry(&elf(&note(b"Xen\0", 6, b"linux\0"))));
    assert!(!has_pvh_entry(&elf(&entry)[..130]));
    assert!(!has_pvh_entry(b"MZ"));
}

proptest! {
    #[test]
    fn whatever_a_file_holds_it_is_read_to_an_answer(notes in prop::collection::vec(any::<u8>(), 0..80),
        at in 0usize..120, byte: u8)
    {
        let mut file = elf(&notes);
        file[at] = byte;
        has_pvh_entry(&file);
    }
}
