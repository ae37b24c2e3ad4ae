//! Which frames of memory are taken.
//!
//! Decision: one bit for each frame, in memory that the kernel lends, so that the allocator needs no
//! allocator. Everything is taken until it is said to be free, and giving back what is not taken is
//! an error: a frame that two believe to own is how one process reads another's memory.

use core::ops::Range;

/// A frame was given back that is not taken, or that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotTaken;

/// The bits of all frames; 1 where a frame is taken.
pub struct Bitmap<'a> {
    words: &'a mut [u64],
    frames: usize,
    available: usize,
    /// Where the search begins: behind the last one that was taken.
    next: usize,
}

impl<'a> Bitmap<'a> {
    /// `frames` frames, all taken; no more than there are bits.
    pub fn new(words: &'a mut [u64], frames: usize) -> Self {
        words.fill(u64::MAX);
        let frames = frames.min(words.len().saturating_mul(64));
        Self {
            words,
            frames,
            available: 0,
            next: 0,
        }
    }

    /// How many are free.
    pub fn available(&self) -> usize {
        self.available
    }

    /// Makes the frames of a range free that exist and are not.
    pub fn free_range(&mut self, range: Range<usize>) {
        for frame in range.start..range.end.min(self.frames) {
            if self.taken(frame) {
                self.set(frame, false);
            }
        }
    }

    /// Takes a free frame: the first behind the last one taken, or from the start again.
    pub fn take(&mut self) -> Option<usize> {
        let frame = self
            .search(self.next..self.frames)
            .or_else(|| self.search(0..self.next))?;
        self.set(frame, true);
        self.next = (frame + 1) % self.frames;
        Some(frame)
    }

    /// Takes the first `count` free frames that follow each other; the first of them.
    pub fn take_contiguous(&mut self, count: usize) -> Option<usize> {
        if count == 0 || count > self.available {
            return None;
        }
        let mut start = self.search(0..self.frames)?;
        let mut end = start;
        while end - start < count {
            if end >= self.frames {
                return None;
            }
            if self.taken(end) {
                start = self.search(end..self.frames)?;
                end = start;
            }
            end += 1;
        }
        for frame in start..end {
            self.set(frame, true);
        }
        Some(start)
    }

    /// Gives back a frame.
    pub fn give(&mut self, frame: usize) -> Result<(), NotTaken> {
        if frame >= self.frames || !self.taken(frame) {
            return Err(NotTaken);
        }
        self.set(frame, false);
        Ok(())
    }

    /// The first free frame of a range. Words without one are passed over as a whole.
    fn search(&self, range: Range<usize>) -> Option<usize> {
        let mut at = range.start;
        while at < range.end {
            let word = self.words.get(at / 64).copied().unwrap_or(u64::MAX);
            let taken = word | ((1u64 << (at % 64)) - 1);
            if taken != u64::MAX {
                let frame = at / 64 * 64 + taken.trailing_ones() as usize;
                return Some(frame).filter(|frame| *frame < range.end);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    fn taken(&self, frame: usize) -> bool {
        self.words
            .get(frame / 64)
            .is_none_or(|word| word >> (frame % 64) & 1 != 0)
    }

    fn set(&mut self, frame: usize, taken: bool) {
        if let Some(word) = self.words.get_mut(frame / 64) {
            *word = *word & !(1 << (frame % 64)) | u64::from(taken) << (frame % 64);
        }
        if taken {
            self.available -= 1;
        } else {
            self.available += 1;
        }
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
