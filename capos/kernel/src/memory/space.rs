//! Address spaces of programs. What a page holds stands in its page table entry alone; beside the tables
//! only the ranges are known, so that a free one is found and a range is unmapped as it was mapped.
//!
//! Decision: the kernel reads and writes a program's memory by walking its tables under the space's lock
//! and by the direct map: a wrong address is an error, never a fault, and what is unmapped meanwhile is
//! not touched.

use super::{PAGE, direct, frames, kernel, shootdown};
use crate::arch::paging::{ADDRESS, NO_EXECUTE, PRESENT, USER, WRITABLE, index};
use crate::sync::SpinLock;
use alloc::sync::Arc;
use alloc::vec::Vec;
use bailiwick_capos_core::layout::USER_LIMIT;
use core::slice;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

/// In an entry: the frame belongs to the space and is given back with it.
const OWNED: u64 = 1 << 9;
/// In an entry: the page is there, whatever its rights.
const HELD: u64 = 1 << 10;
/// Ranges that a space has at most, and tables: what a program can have the kernel keep for it beside what
/// its quotas count. A program that scatters its pages is refused more, and nobody else has less.
const REGIONS: usize = 256;
const TABLES: usize = 1024;
/// From where ranges are found that nobody asked for at an address.
const FREE_FROM: u64 = 0x10_0000_0000;

/// What a program may do with a page, as on the wire: 1 read, 2 write, 4 execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rights(u32);

impl Rights {
    pub(crate) const READ: Self = Self(1);
    pub(crate) const WRITE: Self = Self(3);
    pub(crate) const EXECUTE: Self = Self(5);

    /// Rights from the wire; none where what is written could be run, or where they are unknown.
    pub(crate) fn of(bits: u32) -> Option<Self> {
        (bits & !7 == 0 && bits & 6 != 6).then_some(Self(bits))
    }

    fn bits(self) -> u64 {
        let mut bits = HELD;
        if self.0 & 7 != 0 {
            bits |= PRESENT | USER;
        }
        if self.0 & 2 != 0 {
            bits |= WRITABLE;
        }
        if self.0 & 4 == 0 {
            bits |= NO_EXECUTE;
        }
        bits
    }
}

/// Why a range cannot be had or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmappable {
    /// Not of whole pages, empty, or not a program's.
    Range,
    /// Something is there, or nothing is.
    Taken,
    /// There is no memory for it.
    Memory,
}

/// What was unmapped.
pub(crate) struct Unmapped {
    /// Frames that were the space's own.
    pub(crate) frames: usize,
    /// Pages of addresses.
    pub(crate) pages: usize,
    pub(crate) was_reserved: bool,
}

/// What a range is.
#[derive(Clone)]
pub(crate) enum Kind {
    /// Pages of the program's own that it was begun with; it does not unmap them.
    Fixed,
    /// Pages of its own.
    Own,
    /// Addresses for pages to come.
    Reserved,
    /// Pages of something that is shared.
    Shared(Arc<dyn Send + Sync>),
}

/// A range of addresses.
#[derive(Clone)]
pub(crate) struct Region {
    pub(crate) start: u64,
    pub(crate) pages: u64,
    pub(crate) kind: Kind,
}

impl Region {
    fn end(&self) -> u64 {
        self.start + self.pages * PAGE
    }
}

struct Inner {
    regions: Vec<Region>,
}

/// An address space.
pub(crate) struct Space {
    top: u64,
    inner: SpinLock<Inner>,
    /// The processors that may have translations of it, by their numbers.
    resident: AtomicU64,
    /// Frames of tables.
    tables: AtomicUsize,
}

fn table(frame: u64) -> &'static mut [u64; 512] {
    // SAFETY: the frame is a table of a space, in the direct map, and reached under that space's lock, or
    // while the space is not made yet or nobody has it any more.
    unsafe { &mut *direct(frame).cast() }
}

/// A range in whole pages, in a program's part.
pub(crate) fn pages(start: u64, size: u64) -> Result<u64, Unmappable> {
    let end = start.checked_add(size).ok_or(Unmappable::Range)?;
    // The last page before the hole stays free: a system call at its end would return into the hole.
    let fits = start.is_multiple_of(PAGE) && size > 0 && start >= PAGE && end <= USER_LIMIT - PAGE;
    fits.then_some(size.div_ceil(PAGE)).ok_or(Unmappable::Range)
}

impl Space {
    /// An empty one.
    pub(crate) fn new() -> Option<Self> {
        let top = frames::take()?;
        kernel::share(table(top));
        Some(Self {
            top,
            inner: SpinLock::new(Inner {
                regions: Vec::new(),
            }),
            resident: AtomicU64::new(0),
            tables: AtomicUsize::new(1),
        })
    }

    /// The physical address of its top table.
    pub(crate) fn top(&self) -> u64 {
        self.top
    }

    /// This processor is about to use it.
    pub(crate) fn enter(&self, cpu: usize) {
        self.resident.fetch_or(1 << cpu, Ordering::SeqCst);
    }

    /// This processor uses another table.
    pub(crate) fn leave(&self, cpu: usize) {
        self.resident.fetch_and(!(1 << cpu), Ordering::SeqCst);
    }

    /// The processors that may use it, a bit for each number.
    pub(crate) fn resident(&self) -> u64 {
        self.resident.load(Ordering::SeqCst)
    }

    /// The entry for a page, where there are tables for it, or they can be made.
    fn entry(&self, page: u64, make: bool) -> Option<&'static mut u64> {
        let mut at = self.top;
        for level in [3, 2, 1] {
            let entry = &mut table(at)[index(page, level)];
            if *entry == 0 {
                if !make {
                    return None;
                }
                // Under the space's lock: nobody else counts meanwhile.
                let tables = self.tables.load(Ordering::Relaxed);
                if tables >= TABLES {
                    return None;
                }
                *entry = frames::take()? | PRESENT | WRITABLE | USER;
                self.tables.store(tables + 1, Ordering::Relaxed);
            }
            at = *entry & ADDRESS;
        }
        Some(&mut table(at)[index(page, 0)])
    }

    /// Adds a range at `hint`, or where there is room if that is 0; returns where.
    fn claim(
        inner: &mut Inner,
        hint: u64,
        size: u64,
        kind: Kind,
    ) -> Result<(u64, u64), Unmappable> {
        let start = match hint {
            0 => {
                let room = |start: u64| {
                    let end = start.checked_add(size.next_multiple_of(PAGE))?;
                    let over = |r: &&Region| r.start < end && start < r.end();
                    inner.regions.iter().find(over).map(Region::end)
                };
                let mut start = FREE_FROM;
                while let Some(next) = room(start) {
                    start = next;
                }
                start
            }
            hint => hint,
        };
        let pages = pages(start, size)?;
        let end = start + pages * PAGE;
        if inner
            .regions
            .iter()
            .any(|r| r.start < end && start < r.end())
        {
            return Err(Unmappable::Taken);
        }
        if inner.regions.len() >= REGIONS {
            return Err(Unmappable::Memory);
        }
        inner.regions.push(Region { start, pages, kind });
        Ok((start, pages))
    }

    /// Maps frames that belong to somebody else; returns where.
    pub(crate) fn map_shared(
        &self,
        hint: u64,
        frames: &[u64],
        rights: Rights,
        of: Arc<dyn Send + Sync>,
    ) -> Result<u64, Unmappable> {
        let mut inner = self.inner.lock();
        let size = frames.len() as u64 * PAGE;
        let (start, _) = Self::claim(&mut inner, hint, size, Kind::Shared(of))?;
        for (number, frame) in (0..).zip(frames) {
            let Some(entry) = self.entry(start + number * PAGE, true) else {
                let given = self.cut(&mut inner, start, size)?;
                drop(inner);
                self.release(given);
                return Err(Unmappable::Memory);
            };
            *entry = frame | rights.bits();
        }
        Ok(start)
    }

    /// Maps fresh frames; returns where.
    pub(crate) fn map(
        &self,
        hint: u64,
        size: u64,
        rights: Rights,
        kind: Kind,
    ) -> Result<u64, Unmappable> {
        let mut inner = self.inner.lock();
        let (start, pages) = Self::claim(&mut inner, hint, size, kind)?;
        if let Err(error) = self.fill(start, pages, rights) {
            let given = self.cut(&mut inner, start, pages * PAGE)?;
            drop(inner);
            self.release(given);
            return Err(error);
        }
        Ok(start)
    }

    fn fill(&self, start: u64, pages: u64, rights: Rights) -> Result<(), Unmappable> {
        for page in 0..pages {
            let frame = frames::take().ok_or(Unmappable::Memory)?;
            let Some(entry) = self.entry(start + page * PAGE, true) else {
                frames::give(frame);
                return Err(Unmappable::Memory);
            };
            *entry = frame | rights.bits() | OWNED;
        }
        Ok(())
    }

    /// Reserves addresses; returns where.
    pub(crate) fn reserve(&self, hint: u64, size: u64) -> Result<u64, Unmappable> {
        let mut inner = self.inner.lock();
        Self::claim(&mut inner, hint, size, Kind::Reserved).map(|(start, _)| start)
    }

    /// Takes the entries of a range out; returns the frames that were the space's.
    fn clear(&self, start: u64, pages: u64) -> Vec<u64> {
        let mut given = Vec::new();
        for page in 0..pages {
            if let Some(entry) = self.entry(start + page * PAGE, false) {
                let old = core::mem::take(entry);
                if old & OWNED != 0 {
                    given.push(old & ADDRESS);
                }
            }
        }
        given
    }

    /// Takes a range out, which is a region or a part of one.
    fn cut(&self, inner: &mut Inner, start: u64, size: u64) -> Result<Vec<u64>, Unmappable> {
        let pages = pages(start, size)?;
        let end = start + pages * PAGE;
        let over = |r: &Region| r.start <= start && end <= r.end();
        let at = inner
            .regions
            .iter()
            .position(over)
            .ok_or(Unmappable::Taken)?;
        let is_inner = |r: &Region| r.start < start && end < r.end();
        if inner.regions.len() >= REGIONS && is_inner(&inner.regions[at]) {
            return Err(Unmappable::Memory);
        }
        let region = inner.regions.swap_remove(at);
        let given = self.clear(start, pages);
        let rest = [(region.start, start), (end, region.end())];
        for (from, to) in rest.into_iter().filter(|(from, to)| from < to) {
            inner.regions.push(Region {
                start: from,
                pages: (to - from) / PAGE,
                kind: region.kind.clone(),
            });
        }
        Ok(given)
    }

    /// What kind a whole range is of.
    fn kind(inner: &Inner, start: u64, size: u64) -> Result<(&Kind, u64), Unmappable> {
        let pages = pages(start, size)?;
        let end = start + pages * PAGE;
        let over = |r: &&Region| r.start <= start && end <= r.end();
        let region = inner.regions.iter().find(over).ok_or(Unmappable::Taken)?;
        Ok((&region.kind, pages))
    }

    fn release(&self, given: Vec<u64>) {
        // What was written to the tables is seen before it is read who may have older translations: a
        // processor that is not among them yet says so before it reads the tables (`enter`).
        fence(Ordering::SeqCst);
        shootdown::release(self.resident(), given);
    }

    /// Unmaps every range of shared frames that `is` accepts; where each was, from and to. Whoever calls keeps
    /// the frames until this returns.
    pub(crate) fn unmap_all(&self, is: impl Fn(&Kind) -> bool) -> Vec<(u64, u64)> {
        let mut inner = self.inner.lock();
        let ranges = inner.regions.iter().filter(|region| is(&region.kind));
        let ranges: Vec<_> = ranges.map(|region| (region.start, region.end())).collect();
        for (start, end) in &ranges {
            // A region as a whole is always there to be cut.
            let _ = self.cut(&mut inner, *start, end - start);
        }
        drop(inner);
        self.release(Vec::new());
        ranges
    }

    /// Unmaps a range of the kind that `is` accepts.
    pub(crate) fn unmap(
        &self,
        start: u64,
        size: u64,
        is: impl Fn(&Kind) -> bool,
    ) -> Result<Unmapped, Unmappable> {
        let mut inner = self.inner.lock();
        let (kind, pages) = Self::kind(&inner, start, size)?;
        if !is(kind) {
            return Err(Unmappable::Taken);
        }
        let was_reserved = matches!(kind, Kind::Reserved);
        let given = self.cut(&mut inner, start, size)?;
        drop(inner);
        let frames = given.len();
        self.release(given);
        Ok(Unmapped {
            frames,
            pages: pages as usize,
            was_reserved,
        })
    }

    /// Changes the rights of pages that are all there.
    pub(crate) fn protect(
        &self,
        start: u64,
        size: u64,
        rights: Rights,
        is: impl Fn(&Kind) -> bool,
    ) -> Result<(), Unmappable> {
        let inner = self.inner.lock();
        let (kind, pages) = Self::kind(&inner, start, size)?;
        let all = |page| {
            self.entry(start + page * PAGE, false)
                .is_some_and(|e| *e & HELD != 0)
        };
        if !is(kind) || !(0..pages).all(all) {
            return Err(Unmappable::Taken);
        }
        for page in 0..pages {
            if let Some(entry) = self.entry(start + page * PAGE, false) {
                *entry = *entry & (ADDRESS | OWNED) | rights.bits();
            }
        }
        drop(inner);
        self.release(Vec::new());
        Ok(())
    }

    /// Gives reserved addresses fresh pages.
    pub(crate) fn commit(&self, start: u64, size: u64, rights: Rights) -> Result<(), Unmappable> {
        let inner = self.inner.lock();
        let (kind, pages) = Self::kind(&inner, start, size)?;
        let any = |page| {
            self.entry(start + page * PAGE, false)
                .is_some_and(|e| *e & HELD != 0)
        };
        if !matches!(kind, Kind::Reserved) || (0..pages).any(any) {
            return Err(Unmappable::Taken);
        }
        if let Err(error) = self.fill(start, pages, rights) {
            let given = self.clear(start, pages);
            drop(inner);
            self.release(given);
            return Err(error);
        }
        Ok(())
    }

    /// Takes pages of reserved addresses back; returns how many there were.
    pub(crate) fn decommit(&self, start: u64, size: u64) -> Result<usize, Unmappable> {
        let inner = self.inner.lock();
        let (kind, pages) = Self::kind(&inner, start, size)?;
        if !matches!(kind, Kind::Reserved) {
            return Err(Unmappable::Taken);
        }
        let given = self.clear(start, pages);
        drop(inner);
        let count = given.len();
        self.release(given);
        Ok(count)
    }

    /// Where bytes of a program's memory are, up to the end of their page.
    fn reach(&self, address: u64, needs: u64) -> Option<(*mut u8, usize)> {
        if address >= USER_LIMIT {
            return None;
        }
        let page = address & !(PAGE - 1);
        let entry = *self.entry(page, false)?;
        let all = PRESENT | USER | needs;
        let offset = address - page;
        (entry & all == all).then(|| (direct((entry & ADDRESS) + offset), (PAGE - offset) as usize))
    }

    /// Reads a program's memory; whether all of it was there.
    #[must_use]
    pub(crate) fn read(&self, mut address: u64, mut into: &mut [u8]) -> bool {
        let _inner = self.inner.lock();
        while !into.is_empty() {
            let Some((from, length)) = self.reach(address, 0) else {
                return false;
            };
            let (now, rest) = into.split_at_mut(length.min(into.len()));
            for (at, byte) in now.iter_mut().enumerate() {
                // SAFETY: the frame is mapped in this space, which is locked, so that it is not given
                // back; a program may write to it meanwhile, so that it is read byte by byte, whatever it
                // holds.
                *byte = unsafe { from.add(at).read_volatile() };
            }
            let Some(next) = address.checked_add(now.len() as u64) else {
                return false;
            };
            (address, into) = (next, rest);
        }
        true
    }

    /// Writes a program's memory; whether all of it was there and could be written by the program.
    #[must_use]
    pub(crate) fn write(&self, mut address: u64, mut from: &[u8]) -> bool {
        let _inner = self.inner.lock();
        while !from.is_empty() {
            let Some((to, length)) = self.reach(address, WRITABLE) else {
                return false;
            };
            let (now, rest) = from.split_at(length.min(from.len()));
            for (at, byte) in now.iter().enumerate() {
                // SAFETY: as in `read`: others may use it at the same time, so that no reference is made
                // to it; the program could write to it itself.
                unsafe { to.add(at).write_volatile(*byte) }
            }
            let Some(next) = address.checked_add(now.len() as u64) else {
                return false;
            };
            (address, from) = (next, rest);
        }
        true
    }

    /// Whether all of a range can be written by the program.
    #[must_use]
    pub(crate) fn is_writable(&self, address: u64, length: usize) -> bool {
        let _inner = self.inner.lock();
        let Some(end) = address.checked_add(length as u64) else {
            return false;
        };
        let first = address & !(PAGE - 1);
        (first..end)
            .step_by(PAGE as usize)
            .all(|page| self.reach(page, WRITABLE).is_some())
    }

    /// Fills pages whatever their rights are: what a program begins with.
    pub(crate) fn load(&self, mut address: u64, mut from: &[u8]) {
        let _inner = self.inner.lock();
        while !from.is_empty() {
            let page = address & !(PAGE - 1);
            let offset = address - page;
            let Some(entry) = self.entry(page, false) else {
                return;
            };
            let (now, rest) = from.split_at(((PAGE - offset) as usize).min(from.len()));
            let to = direct((*entry & ADDRESS) + offset);
            // SAFETY: a frame of this space, which no program runs in yet.
            unsafe { slice::from_raw_parts_mut(to, now.len()) }.copy_from_slice(now);
            address += now.len() as u64;
            from = rest;
        }
    }

    /// Where in the machine's memory a byte is, if it is of something shared.
    pub(crate) fn shared(&self, address: u64) -> Option<u64> {
        let inner = self.inner.lock();
        let is_over = |r: &&Region| (r.start..r.end()).contains(&address);
        let region = inner.regions.iter().find(is_over)?;
        if !matches!(region.kind, Kind::Shared(_)) {
            return None;
        }
        let entry = *self.entry(address & !(PAGE - 1), false)?;
        (entry & HELD != 0).then_some((entry & ADDRESS) + address % PAGE)
    }

    /// The frame of a page, for the kernel's own use while the space lives: the ring.
    pub(crate) fn frame(&self, page: u64) -> Option<u64> {
        let _inner = self.inner.lock();
        let entry = *self.entry(page, false)?;
        (entry & HELD != 0).then_some(entry & ADDRESS)
    }
}

impl Drop for Space {
    /// No processor uses it and nothing refers to it: all of it is given back.
    fn drop(&mut self) {
        loop {
            match self.resident() {
                0 => break,
                mask => shootdown::forget(mask),
            }
        }
        give_tables(self.top, 3);
    }
}

/// Gives back a table of a program's half, all below it, and the frames that were the space's.
fn give_tables(at: u64, level: u32) {
    let entries = match level {
        3 => &table(at)[..256],
        _ => &table(at)[..],
    };
    for entry in entries.iter().filter(|entry| **entry != 0) {
        if level > 0 {
            give_tables(entry & ADDRESS, level - 1);
        } else if entry & OWNED != 0 {
            frames::give(entry & ADDRESS);
        }
    }
    frames::give(at);
}
