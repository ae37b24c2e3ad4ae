//! The journal's memory. It is shared with the file, so a row that was copied here outlives the
//! process; and anyone with the user's rights can change the file, so nothing that is read back
//! from here is believed: no reference to it exists, bytes are only copied in and out.

use crate::layout::{ANCHORED, COMMITTED, DRAINED, HEADER, LOST, MAGIC, RING, Slot};
use memmap2::{Advice, MmapOptions, MmapRaw};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const LEN: usize = HEADER + RING;

/// A mapped journal.
pub(crate) struct Mapping(MmapRaw);

impl Mapping {
    /// Maps a journal, which must be `HEADER + RING` bytes long, and writes its first bytes.
    pub(crate) fn new(file: &File) -> io::Result<Self> {
        let mapping = Self(MmapOptions::new().len(LEN).map_raw(file)?);
        // Else the first byte that is touched reads the whole empty file: 0.27 ms.
        mapping.0.advise(Advice::Random)?;
        mapping.copy_in(8, &(RING as u64).to_le_bytes());
        mapping.copy_in(0, &MAGIC);
        Ok(mapping)
    }

    /// Publishes a row: everything that was written before is seen by whoever sees this.
    pub(crate) fn commit(&self, slot: &Slot) {
        self.copy_in(slot.offset(), &slot.to_bytes());
        self.word(COMMITTED).store(slot.end, Ordering::Release);
    }

    /// Says that everything before `position` is in the database.
    pub(crate) fn drained(&self, position: u64) {
        self.word(DRAINED).store(position, Ordering::Release);
    }

    /// Says how many rows could not be kept.
    pub(crate) fn lost(&self, rows: u64) {
        self.word(LOST).store(rows, Ordering::Release);
    }

    /// Says that the index has the head of the whole chain.
    pub(crate) fn anchored(&self) {
        self.word(ANCHORED).store(1, Ordering::Release);
    }

    /// Copies `bytes` into the ring at a position.
    pub(crate) fn write_ring(&self, position: u64, bytes: &[u8]) {
        let (at, first) = split(position, bytes.len());
        self.copy_in(HEADER + at, &bytes[..first]);
        self.copy_in(HEADER, &bytes[first..]);
    }

    /// Copies from the ring at a position.
    pub(crate) fn read_ring(&self, position: u64, into: &mut [u8]) {
        let (at, first) = split(position, into.len());
        let (head, tail) = into.split_at_mut(first);
        self.copy_out(HEADER + at, head);
        self.copy_out(HEADER, tail);
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= HEADER);
        // SAFETY: the mapping begins on a page, is `LEN` bytes long and lives as long as `self`;
        // the offset is a multiple of eight inside the header. These words are written by nothing
        // but this function's atomics: `copy_in` is given the magic (0..16), the slots and the
        // ring only. Other processes may store to them, which for an atomic is no data race.
        unsafe { AtomicU64::from_ptr(self.0.as_mut_ptr().add(offset).cast()) }
    }

    fn copy_in(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= LEN);
        // SAFETY: the range lies inside the mapping (asserted), which is writable; `bytes` is
        // memory of ours, which never overlaps it. The one producer writes behind `committed`
        // and holds the state's mutex; the writer thread reads before it, so they never meet.
        unsafe {
            let to = self.0.as_mut_ptr().add(offset);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }

    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        assert!(offset + into.len() <= LEN);
        // SAFETY: the range lies inside the mapping (asserted); `into` is memory of ours, which
        // never overlaps it. The caller asks only for bytes before `committed`, which no thread
        // of this process writes; what another process writes there meanwhile makes the copy
        // wrong, and the copy is parsed as hostile bytes.
        unsafe {
            let from = self.0.as_ptr().add(offset);
            std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len());
        }
    }
}

/// Where a position is in the ring, and how many of `len` bytes fit before its end.
pub(crate) fn split(position: u64, len: usize) -> (usize, usize) {
    let at = (position % RING as u64) as usize;
    (at, len.min(RING - at))
}
