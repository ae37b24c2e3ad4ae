//! ELF files of a few instructions, which need no compiler.

use bailiwick_capos_core::layout::IMAGE_BASE;

/// The type of a part that is mapped, `PT_LOAD`.
const LOAD: u32 = 1;
/// That of a note, `PT_NOTE`.
pub(crate) const NOTE: u32 = 4;

/// A program header: a part of the file that lies at the file's base and its offset.
pub(crate) struct Part {
    pub(crate) kind: u32,
    /// `PF_R`, `PF_X`.
    pub(crate) rights: u32,
    pub(crate) offset: u32,
    /// Bytes, in the file and in memory.
    pub(crate) size: u64,
}

impl Part {
    /// The file's first bytes, so many of them, to be read and executed.
    pub(crate) const fn loaded(size: u64) -> Self {
        Self {
            kind: LOAD,
            rights: 5,
            offset: 0,
            size,
        }
    }
}

/// Bytes of all headers of a file with so many parts.
pub(crate) const fn headers(parts: u32) -> u32 {
    64 + 56 * parts
}

/// The headers of a file for x86-64 that is linked to this base and begins at an offset.
pub(crate) fn begin(base: u32, entry: u32, parts: &[Part]) -> Vec<u8> {
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut put = |bytes: &[u8]| file.extend_from_slice(bytes);
    // ET_EXEC for x86-64, version 1; the entry; the program headers behind this one; no sections.
    put(&[2, 0, 62, 0, 1, 0, 0, 0]);
    put(&u64::from(base + entry).to_le_bytes());
    put(&64_u64.to_le_bytes());
    put(&[0; 12]);
    for half in [64, 56, parts.len() as u16, 64, 0, 0] {
        put(&half.to_le_bytes());
    }
    for part in parts {
        let address = u64::from(base + part.offset);
        put(&part.kind.to_le_bytes());
        put(&part.rights.to_le_bytes());
        for long in [
            u64::from(part.offset),
            address,
            address,
            part.size,
            part.size,
            4,
        ] {
            put(&long.to_le_bytes());
        }
    }
    file
}

/// A program of the capability kernel that is nothing but this code.
fn program(code: &[u8]) -> Vec<u8> {
    let entry = headers(1);
    let size = u64::from(entry) + code.len() as u64;
    let mut file = begin(IMAGE_BASE as u32, entry, &[Part::loaded(size)]);
    file.extend_from_slice(code);
    file
}

/// A program that ends with this code.
#[must_use]
pub fn ending_program(code: u8) -> Vec<u8> {
    // mov eax, 1; mov edi, CODE; syscall; jmp to itself
    program(&[
        0xb8, 1, 0, 0, 0, 0xbf, code, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xfe,
    ])
}

/// A program that is ended by its first instruction, which the processor does not know.
#[must_use]
pub fn faulting_program() -> Vec<u8> {
    // ud2
    program(&[0x0f, 0x0b])
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_capos_core::elf::Image;

    #[test]
    fn the_programs_are_programs_of_the_kernel() {
        for file in [ending_program(42), faulting_program()] {
            let image = Image::parse(&file).unwrap();
            assert_eq!(image.entry, IMAGE_BASE + u64::from(headers(1)));
        }
    }
}
