//! What a running session knows about its own record. It is kept in memory of the supervisor's
//! own; the journal only repeats it, because what stands in a file can be changed by others.

use crate::LedgerError;
use crate::chain::{self, Hash};
use crate::journal::Journal;
use crate::layout::{FRAME_HEAD, Frame, HEADER, LAST, RING, ROW_MAX, Slot};
use crate::mapping::Mapping;
use crate::shorten::shorten;
use bailiwick_event::{Act, Boundary, Event};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a row waits for room in the journal.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// The part of a ledger that its mutex guards.
pub(crate) struct State {
    /// Both are given up at the end of the session.
    pub(crate) journal: Option<Journal>,
    pub(crate) mapping: Option<Arc<Mapping>>,
    /// The frame that is being built; kept, so that a row costs no allocation.
    frame: Vec<u8>,
    /// Bytes that were ever written to the ring, and of these, those that the writer took.
    pub(crate) committed: u64,
    pub(crate) drained: u64,
    pub(crate) rows: u64,
    pub(crate) refusals: u64,
    pub(crate) head: Hash,
    pub(crate) by_boundary: [u64; Boundary::ALL.len()],
    pub(crate) last_refusal: Option<Event>,
    /// How the command ended.
    pub(crate) exit: Option<u8>,
    /// Rows that could not be kept, in all, and of these, those that no row tells about yet.
    pub(crate) lost: u64,
    pub(crate) untold: u64,
    pub(crate) writer: Option<JoinHandle<()>>,
    /// The writer sleeps until it is woken.
    pub(crate) writer_idle: bool,
    /// Why the writer is not getting on.
    pub(crate) writer_error: Option<String>,
    /// How long a row waits for room.
    pub(crate) patience: Duration,
    /// A row waited in vain; the next ones do not wait until the writer gets on.
    pub(crate) stalled: bool,
    pub(crate) stop: bool,
}

impl State {
    pub(crate) fn new(journal: Journal, mapping: Arc<Mapping>, genesis: Hash) -> Self {
        Self {
            journal: Some(journal),
            mapping: Some(mapping),
            frame: Vec::with_capacity(1024),
            committed: 0,
            drained: 0,
            rows: 0,
            refusals: 0,
            head: genesis,
            by_boundary: [0; Boundary::ALL.len()],
            last_refusal: None,
            exit: None,
            lost: 0,
            untold: 0,
            writer: None,
            writer_idle: false,
            writer_error: None,
            patience: PATIENCE,
            stalled: false,
            stop: false,
        }
    }

    /// Whether the ring has room for this many more bytes, of a row that is the session's last or not.
    pub(crate) fn fits(&self, bytes: usize, last: bool) -> bool {
        let room = if last { RING } else { RING - LAST };
        self.committed - self.drained + bytes as u64 <= room as u64
    }

    /// Whether the writer should be at work.
    pub(crate) fn half_full(&self) -> bool {
        self.committed - self.drained >= RING as u64 / 2
    }

    /// Writes the frame of the event as the next row, shortened where it is too large; returns
    /// the bytes of ring that it needs.
    pub(crate) fn build(&mut self, event: &mut Event) -> Result<usize, LedgerError> {
        event.id = self.rows + 1;
        // Others may record while the end waits for room.
        if let Act::SessionEnd { rows } = &mut event.act {
            *rows = self.rows;
        }
        self.serialise(event)?;
        for limit in [8192, 1024, 128] {
            if self.frame.len() - FRAME_HEAD <= ROW_MAX {
                break;
            }
            shorten(event, limit);
            self.serialise(event)?;
        }
        if self.frame.len() - FRAME_HEAD > ROW_MAX {
            return Err(LedgerError::Unwritable("it is too large".into()));
        }
        Ok(crate::layout::frame_len(self.frame.len() - FRAME_HEAD))
    }

    fn serialise(&mut self, event: &Event) -> Result<(), LedgerError> {
        self.frame.clear();
        self.frame.resize(FRAME_HEAD, 0);
        serde_json::to_writer(&mut self.frame, event)
            .map_err(|e| LedgerError::Unwritable(e.to_string()))
    }

    /// Makes sure that there are blocks on the disk for this many more bytes.
    pub(crate) fn reserve(&mut self, bytes: usize) -> io::Result<()> {
        let end = HEADER as u64 + self.committed + bytes as u64;
        match &mut self.journal {
            Some(journal) => journal.reserve(end),
            None => Ok(()),
        }
    }

    /// Publishes the frame that [`State::build`] made of this event; it has room and blocks. When it
    /// returns, the row survives the process.
    pub(crate) fn publish(&mut self, event: &Event) -> Result<(), LedgerError> {
        let Some(mapping) = &self.mapping else {
            return Err(LedgerError::Closed);
        };
        let head = chain::link(&self.head, &self.frame[FRAME_HEAD..]);
        Frame::seal(&mut self.frame, &head);
        let slot = Slot {
            rows: event.id,
            end: self.committed + self.frame.len() as u64,
            refusals: self.refusals + u64::from(event.is_refusal()),
            head,
        };
        mapping.write_ring(self.committed, &self.frame);
        mapping.commit(&slot);
        self.committed = slot.end;
        self.rows = slot.rows;
        self.refusals = slot.refusals;
        self.head = head;
        self.count(event);
        Ok(())
    }

    fn count(&mut self, event: &Event) {
        if let Some(at) = Boundary::ALL.iter().position(|b| *b == event.boundary()) {
            self.by_boundary[at] += 1;
        }
        if let Act::ExecExit { code, .. } = event.act {
            self.exit = Some(code);
        }
        if event.is_refusal() {
            self.last_refusal = Some(event.clone());
        }
    }

    /// Counts acts of which no row could be kept.
    pub(crate) fn lose(&mut self, acts: u64) {
        self.lost += acts;
        self.untold += acts;
        if let Some(mapping) = &self.mapping {
            mapping.lost(self.lost);
        }
    }
}
