//! How much of a stream may be under way, and who pays for it.
//!
//! Decision: a stream begins with little and is given more from one pool that all streams of an end
//! share, fast ones first, so that a thousand streams to readers who never read cost a few MiB and one
//! fast stream still has all that it can use. What was given cannot be taken back before it was used;
//! so nobody gets more than a part of what is left. The text of this file is part of the schema's
//! number: both ends must begin alike.

/// The most bytes of a stream that may be under way in one direction.
pub const WINDOW: u32 = 256 * 1024;
/// What may be under way before the first credit.
pub const FIRST: u32 = 4096;
/// What all streams of one end may have beyond that, together.
pub const POOL: u32 = 2 * 1024 * 1024;
/// What a stream has from the start while there is plenty.
const EAGER: u32 = 64 * 1024;

/// What is left for streams that need more.
#[derive(Debug)]
pub(super) struct Pool(u32);

impl Pool {
    pub(super) fn new() -> Self {
        Self(POOL)
    }

    fn take(&mut self, wanted: u32, most: u32) -> u32 {
        let given = wanted.min(most).min(self.0);
        self.0 -= given;
        given
    }
}

/// A stream's two directions.
#[derive(Debug)]
pub(super) struct Stream {
    /// Bytes that may be sent.
    credit: u32,
    /// Bytes that the peer may send.
    room: u32,
    /// Bytes that were passed on and that the peer was not told of.
    taken: u32,
    /// How many bytes may be under way and wait here; what is neither room nor taken waits.
    window: u32,
    /// Whether this side has more to send.
    pub(super) sends: bool,
    /// Whether the other has.
    pub(super) hears: bool,
}

impl Stream {
    pub(super) fn new() -> Self {
        Self {
            credit: FIRST,
            room: FIRST,
            taken: 0,
            window: FIRST,
            sends: true,
            hears: true,
        }
    }

    /// What may be sent now.
    pub(super) fn credit(&self) -> u32 {
        match self.sends {
            true => self.credit,
            false => 0,
        }
    }

    /// So much was sent; at most the credit.
    pub(super) fn spend(&mut self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.credit = self.credit.saturating_sub(bytes);
    }

    /// The peer gives credit; whether an honest one would.
    pub(super) fn earn(&mut self, more: u32) -> bool {
        match self.credit.checked_add(more) {
            Some(credit) if more > 0 && credit <= WINDOW => {
                self.credit = credit;
                true
            }
            _ => false,
        }
    }

    /// Bytes came; whether they were allowed.
    pub(super) fn came(&mut self, bytes: usize) -> bool {
        let room = u32::try_from(bytes).ok();
        let room = room.and_then(|bytes| self.room.checked_sub(bytes));
        self.room = room.unwrap_or(self.room);
        room.is_some()
    }

    /// What a stream is given at its start beyond what it has: the credit to be sent.
    pub(super) fn begin(&mut self, pool: &mut Pool) -> u32 {
        // The lower half is for streams that have shown that they need it.
        let more = pool.take(EAGER - FIRST, pool.0.saturating_sub(POOL / 2) / 8);
        self.window += more;
        self.room += more;
        more
    }

    /// Bytes were passed on: the credit to be sent, 0 for none yet.
    pub(super) fn consumed(&mut self, bytes: usize, pool: &mut Pool) -> u32 {
        let waits = self.waits();
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(waits);
        self.taken += bytes;
        if !self.hears || self.taken < self.window / 2 {
            return 0;
        }
        let fast = bytes == waits;
        if fast {
            let more = self.window.min(WINDOW - self.window);
            let more = pool.take(more, pool.0 / 4);
            self.window += more;
            self.taken += more;
        } else if pool.0 < POOL / 4 {
            // A slow stream gives back what others can use better.
            let less = self.taken.min(self.window - FIRST);
            self.window -= less;
            self.taken -= less;
            pool.0 += less;
        }
        let credit = std::mem::take(&mut self.taken);
        self.room += credit;
        credit
    }

    /// Bytes that came and were not passed on.
    pub(super) fn waits(&self) -> u32 {
        self.window - self.room - self.taken
    }

    /// Whether nothing is left to do: both sides have ended, and all that came was passed on.
    pub(super) fn is_over(&self) -> bool {
        !self.sends && !self.hears && self.waits() == 0
    }

    /// The stream is over.
    pub(super) fn give_back(&self, pool: &mut Pool) {
        pool.0 += self.window - FIRST;
    }
}
