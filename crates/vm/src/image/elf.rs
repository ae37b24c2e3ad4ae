//! Whether a file is a kernel that QEMU enters through PVH. One without the note would be taken for
//! something else and fail in ways that nobody understands, so it never gets into an image.

/// The type of the note that holds the entry, `XEN_ELFNOTE_PHYS32_ENTRY`.
const ENTRY: u32 = 18;
const PT_NOTE: u32 = 4;

/// Whether it is a 64-bit ELF file for x86-64 with such a note.
pub(super) fn has_pvh_entry(file: &[u8]) -> bool {
    headers(file).is_some_and(|notes| notes.into_iter().any(has_entry))
}

fn number<const N: usize>(file: &[u8], at: usize) -> Option<u64> {
    let mut bytes = [0; 8];
    bytes[..N].copy_from_slice(file.get(at..at.checked_add(N)?)?);
    Some(u64::from_le_bytes(bytes))
}

/// The segments that hold notes.
fn headers(file: &[u8]) -> Option<Vec<&[u8]>> {
    if file.get(..6)? != b"\x7fELF\x02\x01" || number::<2>(file, 18)? != 62 {
        return None;
    }
    let first = usize::try_from(number::<8>(file, 32)?).ok()?;
    let size = usize::try_from(number::<2>(file, 54)?).ok()?;
    let count = usize::try_from(number::<2>(file, 56)?).ok()?;
    let mut notes = Vec::new();
    for index in 0..count {
        let at = first.checked_add(index.checked_mul(size)?)?;
        if number::<4>(file, at)? == u64::from(PT_NOTE) {
            let from = usize::try_from(number::<8>(file, at + 8)?).ok()?;
            let length = usize::try_from(number::<8>(file, at + 32)?).ok()?;
            notes.push(file.get(from..from.checked_add(length)?)?);
        }
    }
    Some(notes)
}

/// Whether one of the notes is the entry.
fn has_entry(mut notes: &[u8]) -> bool {
    let padded = |length: u64| usize::try_from(length.next_multiple_of(4)).ok();
    while let (Some(name), Some(rest), Some(kind)) = (
        number::<4>(notes, 0).and_then(padded),
        number::<4>(notes, 4).and_then(padded),
        number::<4>(notes, 8),
    ) {
        if kind == u64::from(ENTRY) && notes.get(12..16) == Some(b"Xen\0") {
            return true;
        }
        match notes.get(12usize.saturating_add(name).saturating_add(rest)..) {
            Some(next) => notes = next,
            None => return false,
        }
    }
    false
}

#[cfg(test)]
#[path = "elf_tests.rs"]
mod tests;
