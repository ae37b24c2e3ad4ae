//! Program images: ELF files for x86-64, linked to fixed addresses.
//!
//! Decision: an image is checked as a whole before a page of it is mapped, and what is accepted is
//! what the loader can map without a further question: segments inside the image's place, apart from
//! each other by pages, never writable and executable at once. Nothing is relocated, no interpreter
//! is started. The file comes from whoever made the manifest; a mistake in it has to be told by
//! segment, and must not let a program write outside of its place.

use crate::bytes::{array, u16_at, u32_at, u64_at};
use crate::layout::{IMAGE_BASE, IMAGE_LIMIT, PAGE, TLS_BASE, TLS_LIMIT, USER_LIMIT};
use alloc::vec::Vec;
use core::fmt;

/// Program headers that an image may have.
pub const HEADERS: usize = 32;
/// Bytes of thread-local storage that an image may ask for: the region less a page for the thread's
/// own block.
pub const TLS_BYTES: u64 = TLS_LIMIT - TLS_BASE - PAGE;

const LOAD: u32 = 1;
const INTERPRETER: u32 = 3;
const TLS: u32 = 7;
const EXECUTE: u32 = 1;
const WRITE: u32 = 2;

/// A part of the image that is mapped. It is always readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its first address.
    pub vaddr: u64,
    /// Bytes in memory; those behind `filesz` are zero.
    pub memsz: u64,
    /// Where its bytes begin in the file.
    pub offset: u64,
    /// Bytes in the file.
    pub filesz: u64,
    /// Whether the program may write to it.
    pub write: bool,
    /// Whether the program may execute it.
    pub execute: bool,
}

/// What each thread's storage is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The address that the linker gave it.
    pub vaddr: u64,
    /// Bytes for each thread; those behind `filesz` are zero.
    pub memsz: u64,
    /// Bytes in the file.
    pub filesz: u64,
    /// Its alignment: a power of two, at most a page.
    pub align: u64,
    /// Where its bytes begin in the file.
    pub offset: u64,
}

/// An image that can be mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Where the program begins; in an executable segment.
    pub entry: u64,
    /// By address, apart from each other by pages.
    pub segments: Vec<Segment>,
    /// Thread-local storage, if there is any.
    pub tls: Option<Tls>,
}

/// Why a file is no image. Numbers are those of program headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// It is shorter than a file header.
    Short,
    /// It is no ELF file.
    Magic,
    /// It is not of 64 bits, little-endian, of version 1.
    Class,
    /// It is not for x86-64.
    Machine,
    /// It is not linked to fixed addresses.
    Kind,
    /// Its program headers are of a wrong size or outside of the file.
    Headers,
    /// It has more than [`HEADERS`].
    TooMany(u16),
    /// Nothing of it is to be mapped.
    Empty,
    /// A header cannot be followed.
    Segment(u16, Fault),
    /// Two segments have a page in common.
    Overlap(u16, u16),
    /// The entry is in no executable segment.
    Entry(u64),
}

/// What is wrong with a program header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its bytes are outside of the file.
    File,
    /// It has more bytes in the file than in memory.
    Size,
    /// It is outside of the place for images, or too large.
    Place,
    /// Address and offset differ within a page.
    Offset,
    /// Its alignment is no power of two, or more than a page for thread-local storage.
    Align,
    /// It is writable and executable.
    WriteExecute,
    /// Thread-local storage is there twice.
    Twice,
    /// It asks for an interpreter.
    Interpreter,
}

impl Image {
    /// Reads and checks an image.
    pub fn parse(file: &[u8]) -> Result<Self, Invalid> {
        let (entry, headers) = headers(file)?;
        let mut loads: Vec<(u16, Segment)> = Vec::new();
        let mut tls = None;
        for (number, header) in (0u16..).zip(headers) {
            let fault = |fault| Invalid::Segment(number, fault);
            match u32_at(header, 0) {
                LOAD => {
                    if let Some(segment) = segment(file, header).map_err(fault)? {
                        loads.push((number, segment));
                    }
                }
                TLS if tls.is_some() => return Err(fault(Fault::Twice)),
                TLS => tls = Some(storage(file, header).map_err(fault)?),
                INTERPRETER => return Err(fault(Fault::Interpreter)),
                _ => {}
            }
        }
        loads.sort_by_key(|(_, segment)| segment.vaddr);
        for pair in loads.windows(2) {
            if let [(first, low), (second, high)] = pair
                && low.pages().1 > high.pages().0
            {
                return Err(Invalid::Overlap(*first, *second));
            }
        }
        if loads.is_empty() {
            return Err(Invalid::Empty);
        }
        let segments: Vec<Segment> = loads.into_iter().map(|(_, segment)| segment).collect();
        let holds = |s: &Segment| s.execute && entry >= s.vaddr && entry - s.vaddr < s.memsz;
        if !segments.iter().any(holds) {
            return Err(Invalid::Entry(entry));
        }
        Ok(Self {
            entry,
            segments,
            tls,
        })
    }
}

impl Segment {
    /// The first address of its first page, and the end of its last.
    pub fn pages(&self) -> (u64, u64) {
        (
            self.vaddr / PAGE * PAGE,
            (self.vaddr + self.memsz).next_multiple_of(PAGE),
        )
    }
}

/// The entry, and the program headers.
fn headers(file: &[u8]) -> Result<(u64, impl Iterator<Item = &[u8]>), Invalid> {
    let header: [u8; 64] = array(file, 0).ok_or(Invalid::Short)?;
    if !header.starts_with(b"\x7fELF") {
        return Err(Invalid::Magic);
    }
    if header[4..7] != [2, 1, 1] {
        return Err(Invalid::Class);
    }
    if u16_at(&header, 18) != 62 {
        return Err(Invalid::Machine);
    }
    if u16_at(&header, 16) != 2 {
        return Err(Invalid::Kind);
    }
    let (size, count) = (u16_at(&header, 54), u16_at(&header, 56));
    if count as usize > HEADERS {
        return Err(Invalid::TooMany(count));
    }
    if size < 56 {
        return Err(Invalid::Headers);
    }
    let start = usize::try_from(u64_at(&header, 32)).map_err(|_| Invalid::Headers)?;
    let table = file
        .get(start..)
        .and_then(|rest| rest.get(..usize::from(size) * usize::from(count)))
        .ok_or(Invalid::Headers)?;
    Ok((u64_at(&header, 24), table.chunks_exact(usize::from(size))))
}

/// Offset, address, bytes in the file and in memory of a program header.
fn extent(file: &[u8], header: &[u8]) -> Result<(u64, u64, u64, u64), Fault> {
    let (offset, vaddr) = (u64_at(header, 8), u64_at(header, 16));
    let (filesz, memsz) = (u64_at(header, 32), u64_at(header, 40));
    if offset
        .checked_add(filesz)
        .is_none_or(|end| end > file.len() as u64)
    {
        return Err(Fault::File);
    }
    if filesz > memsz {
        return Err(Fault::Size);
    }
    let align = u64_at(header, 48);
    if align != 0 && !align.is_power_of_two() {
        return Err(Fault::Align);
    }
    Ok((offset, vaddr, filesz, memsz))
}

fn segment(file: &[u8], header: &[u8]) -> Result<Option<Segment>, Fault> {
    let (offset, vaddr, filesz, memsz) = extent(file, header)?;
    if memsz == 0 {
        return Ok(None);
    }
    let end = vaddr.checked_add(memsz).ok_or(Fault::Place)?;
    if vaddr < IMAGE_BASE || end > IMAGE_LIMIT {
        return Err(Fault::Place);
    }
    if vaddr % PAGE != offset % PAGE {
        return Err(Fault::Offset);
    }
    let flags = u32_at(header, 4);
    let (write, execute) = (flags & WRITE != 0, flags & EXECUTE != 0);
    if write && execute {
        return Err(Fault::WriteExecute);
    }
    Ok(Some(Segment {
        vaddr,
        memsz,
        offset,
        filesz,
        write,
        execute,
    }))
}

fn storage(file: &[u8], header: &[u8]) -> Result<Tls, Fault> {
    let (offset, vaddr, filesz, memsz) = extent(file, header)?;
    let end = vaddr.checked_add(memsz).ok_or(Fault::Place)?;
    if end > USER_LIMIT || memsz > TLS_BYTES {
        return Err(Fault::Place);
    }
    let align = u64_at(header, 48).max(1);
    if align > PAGE {
        return Err(Fault::Align);
    }
    Ok(Tls {
        vaddr,
        memsz,
        filesz,
        align,
        offset,
    })
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("it is shorter than a file header"),
            Self::Magic => f.write_str("it is no ELF file"),
            Self::Class => f.write_str("it is no little-endian ELF file of 64 bits"),
            Self::Machine => f.write_str("it is not for x86-64"),
            Self::Kind => f.write_str("it is not linked to fixed addresses"),
            Self::Headers => f.write_str("its program headers are outside of the file"),
            Self::TooMany(count) => {
                write!(f, "it has {count} program headers and may have {HEADERS}")
            }
            Self::Empty => f.write_str("nothing of it is to be mapped"),
            Self::Segment(number, fault) => write!(f, "program header {number}: {fault}"),
            Self::Overlap(a, b) => write!(f, "program headers {a} and {b} share a page"),
            Self::Entry(entry) => write!(f, "its entry {entry:#x} is in no executable segment"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "its bytes are outside of the file",
            Self::Size => "it has more bytes in the file than in memory",
            Self::Place => "it is outside of the place for images",
            Self::Offset => "its address and its offset differ within a page",
            Self::Align => "its alignment cannot be kept",
            Self::WriteExecute => "it is writable and executable",
            Self::Twice => "it is thread-local storage a second time",
            Self::Interpreter => "it asks for an interpreter",
        })
    }
}

#[cfg(test)]
#[path = "elf_tests.rs"]
mod tests;
