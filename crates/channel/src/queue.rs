//! Bytes that wait: what is to be sent, and what a slow reader has not taken.
//!
//! Decision: what a queue costs follows what is in it, not what was in it once and not what has passed
//! through it. A peer that keeps a thousand readers slightly behind must not be paid in memory.

/// What is always moved to the front rather than let grow, in bytes.
const SMALL: usize = 16 * 1024;
/// The least that it grows by, in bytes.
const STEP: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// All of it was written to once, so that it can be lent without being cleared again.
    bytes: Vec<u8>,
    /// Where what waits begins and ends.
    from: usize,
    to: usize,
    /// How much memory an empty one keeps.
    kept: usize,
}

impl Queue {
    /// One that keeps so much memory when it is empty.
    pub(crate) fn keeping(kept: usize) -> Self {
        Self {
            kept,
            ..Self::default()
        }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        self.bytes.get(self.from..self.to).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.to - self.from
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// A place after what waits; [`Queue::filled`] says how much of it counts.
    pub(crate) fn place(&mut self, most: usize) -> &mut [u8] {
        if self.bytes.len() - self.to < most {
            self.make_room(most);
        }
        let end = self.to + most;
        self.bytes.get_mut(self.to..end).unwrap_or_default()
    }

    fn make_room(&mut self, most: usize) {
        let live = self.len();
        // What is moved is at most twice what was taken since, so that a byte costs little.
        if self.from >= live / 2 || self.bytes.len() <= SMALL {
            self.bytes.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, live);
        }
        let needed = self.to + most;
        if needed > self.bytes.len() {
            if needed > self.bytes.capacity() {
                let ahead = (self.bytes.len() / 4).max(STEP.min(most));
                let wanted = needed.max(self.bytes.len() + ahead);
                self.bytes.reserve_exact(wanted - self.bytes.len());
            }
            self.bytes.resize(needed, 0);
        }
    }

    /// So many bytes of the place count.
    pub(crate) fn filled(&mut self, bytes: usize) {
        self.to = (self.to + bytes).min(self.bytes.len());
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.place(bytes.len()).copy_from_slice(bytes);
        self.filled(bytes.len());
    }

    /// Moves the bytes from offset `from` to the end before those at offset `to`, both counted from the first
    /// waiting byte. Does nothing where `to` is behind `from`.
    pub(crate) fn bring_forward(&mut self, to: usize, from: usize) {
        let waits = self.bytes.get_mut(self.from..self.to).unwrap_or_default();
        let moved = waits.len().saturating_sub(from);
        if let Some(all) = waits.get_mut(to..).filter(|all| all.len() >= moved) {
            all.rotate_right(moved);
        }
    }

    /// So many bytes wait no more.
    pub(crate) fn take(&mut self, bytes: usize) {
        self.from = (self.from + bytes).min(self.to);
        if self.is_empty() {
            (self.from, self.to) = (0, 0);
            if self.bytes.capacity() > self.kept {
                self.bytes = Vec::new();
            }
        }
    }

    /// How much memory it has.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
