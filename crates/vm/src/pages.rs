//! What a machine has written of its memory since it began as a copy of a file: the pages that are its
//! monitor's alone, which the kernel tells from those of the file. A further copy begins as the same file
//! and is given them.
//!
//! Decision: the monitor may be in a guest's hands, and what it has mapped may be anything. Where the
//! memory lies is found by the file behind it and by its size; what is read there is the guest's own, goes
//! to another machine of the same session's, and is read and written in bounds.

use rustix::param::page_size;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

/// Bits of an entry of a process's list of pages (Documentation/admin-guide/mm/pagemap.rst).
const PRESENT: u64 = 1 << 63;
/// See [`PRESENT`].
const SWAPPED: u64 = 1 << 62;
/// It is a file's, or shared. See [`PRESENT`].
const SHARED: u64 = 1 << 61;

/// What is read or written at one time, in bytes: a multiple of every page's size.
const PIECE: usize = 1 << 20;

/// The memory of a machine, in its monitor.
pub(crate) struct Memory {
    content: File,
    entries: File,
    /// Where it begins there.
    begin: u64,
    /// Pages.
    length: u64,
}

/// Pages that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: u64,
    count: u64,
}

impl Memory {
    /// That of the process's child which has so many bytes of this file mapped for itself.
    ///
    /// # Errors
    /// There is none, or the kernel does not show its memory to this process.
    pub(crate) fn of_child(parent: i32, file: &Path, bytes: u64) -> io::Result<Self> {
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))?;
        for child in children.split_whitespace() {
            match Self::of(child, file, bytes) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                other => return other,
            }
        }
        Err(ErrorKind::NotFound.into())
    }

    /// That of a process.
    fn of(process: &str, file: &Path, bytes: u64) -> io::Result<Self> {
        let at = |name: &str| format!("/proc/{process}/{name}");
        let content = OpenOptions::new().read(true).write(true).open(at("mem"))?;
        let entries = File::open(at("pagemap"))?;
        let inode = file.metadata()?.ino();
        let maps = fs::read_to_string(at("maps"))?;
        let begin = maps.lines().find_map(|line| place(line, inode, bytes));
        Ok(Self {
            content,
            entries,
            begin: begin.ok_or(ErrorKind::NotFound)?,
            length: bytes / page_size() as u64,
        })
    }

    /// The pages that it does not have from its file.
    fn own(&self) -> io::Result<Vec<Range>> {
        let mut all: Vec<Range> = Vec::new();
        let mut buffer = vec![0; PIECE];
        let first = self.begin / page_size() as u64;
        let mut at = 0;
        while at < self.length {
            let count = (self.length - at).min((PIECE / 8) as u64);
            let part = &mut buffer[..count as usize * 8];
            self.entries.read_exact_at(part, (first + at) * 8)?;
            for (page, entry) in (at..).zip(part.chunks_exact(8)) {
                let entry = entry.try_into().map_or(PRESENT, u64::from_ne_bytes);
                if entry & SHARED != 0 || entry & (PRESENT | SWAPPED) == 0 {
                    continue;
                }
                match all.last_mut() {
                    Some(last) if last.first + last.count == page => last.count += 1,
                    _ => all.push(Range {
                        first: page,
                        count: 1,
                    }),
                }
            }
            at += count;
        }
        Ok(all)
    }

    /// Writes the pages that are its own: how many ranges of them there are, where each begins and how long
    /// it is, in pages, and then what is in them. The machine stands still.
    ///
    /// # Errors
    /// Its memory cannot be read, or there is no room for it.
    pub(crate) fn save(&self, to: &mut impl Write) -> io::Result<()> {
        let all = self.own()?;
        let mut index = Vec::with_capacity(8 + all.len() * 16);
        index.extend((all.len() as u64).to_le_bytes());
        for range in &all {
            index.extend(range.first.to_le_bytes());
            index.extend(range.count.to_le_bytes());
        }
        to.write_all(&index)?;
        let mut buffer = vec![0; PIECE];
        let mut used = 0;
        for (at, length) in all.iter().flat_map(|range| range.pieces()) {
            if used + length > PIECE {
                to.write_all(&buffer[..used])?;
                used = 0;
            }
            let part = &mut buffer[used..used + length];
            self.content.read_exact_at(part, self.begin + at)?;
            used += length;
        }
        to.write_all(&buffer[..used])
    }

    /// Has it have the pages that [`Memory::save`] wrote. The machine has not begun.
    ///
    /// # Errors
    /// What is read was not written for such a machine, or its memory cannot be written.
    pub(crate) fn load(&self, from: &mut impl Read) -> io::Result<()> {
        let invalid = || io::Error::from(ErrorKind::InvalidData);
        let mut number = || -> io::Result<u64> {
            let mut bytes = [0; 8];
            from.read_exact(&mut bytes)?;
            Ok(u64::from_le_bytes(bytes))
        };
        let count = number()?;
        if count > self.length {
            return Err(invalid());
        }
        let mut all = Vec::new();
        for _ in 0..count {
            let (first, count) = (number()?, number()?);
            let end = first.checked_add(count).ok_or_else(invalid)?;
            let least = all.last().map_or(0, |last: &Range| last.first + last.count);
            // One behind the other, so that they are no more than its memory.
            if first < least || end > self.length {
                return Err(invalid());
            }
            all.push(Range { first, count });
        }
        let mut buffer = vec![0; PIECE];
        for (at, length) in all.iter().flat_map(|range| range.pieces()) {
            let part = &mut buffer[..length];
            from.read_exact(part)?;
            self.content.write_all_at(part, self.begin + at)?;
        }
        Ok(())
    }
}

impl Range {
    /// Where its pieces begin, and how long each is, in bytes.
    fn pieces(self) -> impl Iterator<Item = (u64, usize)> {
        let (begin, bytes) = (
            self.first * page_size() as u64,
            self.count * page_size() as u64,
        );
        (0..bytes.div_ceil(PIECE as u64)).map(move |number| {
            let at = number * PIECE as u64;
            (begin + at, (bytes - at).min(PIECE as u64) as usize)
        })
    }
}

/// Where a mapping begins, by a line of a process's list of them (proc_pid_maps(5)), if it is a private one
/// of the whole file.
fn place(line: &str, inode: u64, bytes: u64) -> Option<u64> {
    let mut fields = line.split_whitespace();
    let (begin, end) = fields.next()?.split_once('-')?;
    let [rights, offset, _, of] = [(); 4].map(|()| fields.next());
    let (begin, end) = (
        u64::from_str_radix(begin, 16).ok()?,
        u64::from_str_radix(end, 16).ok()?,
    );
    let is = rights == Some("rw-p")
        && u64::from_str_radix(offset?, 16) == Ok(0)
        && of?.parse() == Ok(inode)
        && end.checked_sub(begin) == Some(bytes);
    is.then_some(begin)
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
