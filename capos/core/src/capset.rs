//! The capability set: the page that tells a process by name what it holds.
//!
//! Decision: names are inline and their length is bounded, so that reading needs no offsets and the
//! page can be checked in one pass before anything in it is used. The page tells and does not grant:
//! what a process forges in a copy of it still has to be in the kernel's table.

use crate::bytes::{array, put, u32_at, u64_at};

/// The first eight bytes of the page.
pub const MAGIC: [u8; 8] = *b"capsetv1";
/// The version of the layout, from `capos-config`'s `capset`.
pub const VERSION: u32 = 1;
/// Bytes that a name may have.
pub const NAME: usize = 32;
/// Entries that fit into the page.
pub const ENTRIES: usize = (4096 - HEADER) / ENTRY;

/// What is in `rax` where a program ends itself by an invalid opcode because it was not given a capability:
/// `rdi` has the address of its name, `rsi` its length. The kernel then says which one; it is no part of the
/// published ABI.
pub const MISSING: u64 = u64::from_le_bytes(*b"notgiven");

const HEADER: usize = 16;
const ENTRY: usize = 48;

/// A capability that the process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its id in the process's table.
    pub cap_id: u32,
    /// Its interface.
    pub interface_id: u64,
    /// What the manifest or the parent calls it.
    pub name: &'a str,
}

/// Why a set cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// There are more than [`ENTRIES`].
    TooMany,
    /// The name of this entry is longer than [`NAME`] bytes.
    NameTooLong(usize),
}

/// Why a page is no capability set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// It is shorter than a page.
    Short,
    /// It does not begin with [`MAGIC`] and [`VERSION`].
    Magic,
    /// It says to have more than [`ENTRIES`].
    Count(u32),
    /// The name of this entry is too long or not UTF-8.
    Name(usize),
}

/// Writes the page anew.
pub fn write(page: &mut [u8; 4096], entries: &[Entry<'_>]) -> Result<(), Unfit> {
    if entries.len() > ENTRIES {
        return Err(Unfit::TooMany);
    }
    if let Some(long) = entries.iter().position(|entry| entry.name.len() > NAME) {
        return Err(Unfit::NameTooLong(long));
    }
    page.fill(0);
    put(page, 0, &MAGIC);
    put(page, 8, &VERSION.to_le_bytes());
    put(page, 12, &(entries.len() as u32).to_le_bytes());
    for (index, entry) in entries.iter().enumerate() {
        let at = HEADER + index * ENTRY;
        put(page, at, &entry.cap_id.to_le_bytes());
        put(page, at + 4, &(entry.name.len() as u32).to_le_bytes());
        put(page, at + 8, &entry.interface_id.to_le_bytes());
        put(page, at + 16, entry.name.as_bytes());
    }
    Ok(())
}

/// The entries of a page, which is checked as a whole first.
pub fn entries(page: &[u8]) -> Result<impl Iterator<Item = Entry<'_>>, Invalid> {
    let page: &[u8] = page.get(..4096).ok_or(Invalid::Short)?;
    if array(page, 0) != Some(MAGIC) || u32_at(page, 8) != VERSION {
        return Err(Invalid::Magic);
    }
    let count = u32_at(page, 12);
    if count as usize > ENTRIES {
        return Err(Invalid::Count(count));
    }
    let count = count as usize;
    if let Some(bad) = (0..count).find(|index| entry(page, *index).is_none()) {
        return Err(Invalid::Name(bad));
    }
    Ok((0..count).filter_map(|index| entry(page, index)))
}

/// The first entry of this name, in a page that is a capability set.
pub fn find<'a>(page: &'a [u8], name: &str) -> Option<Entry<'a>> {
    entries(page).ok()?.find(|entry| entry.name == name)
}

fn entry(page: &[u8], index: usize) -> Option<Entry<'_>> {
    let entry = page.get(HEADER + index * ENTRY..)?.get(..ENTRY)?;
    let name = entry.get(16..)?.get(..u32_at(entry, 4) as usize)?;
    Some(Entry {
        cap_id: u32_at(entry, 0),
        interface_id: u64_at(entry, 8),
        name: core::str::from_utf8(name).ok()?,
    })
}

const _: () = assert!(ENTRIES == 85);

#[cfg(test)]
#[path = "capset_tests.rs"]
mod tests;
