//! The bytes of the journal. The file is one header page and one ring; a position is the number
//! of bytes ever written, so that it never goes backwards and tells by itself what was
//! overwritten. Two slots hold the chain's head in turn: a process that is killed between the
//! head and the position leaves the older slot whole.

use crate::chain::Hash;

/// First bytes of every journal.
pub(crate) const MAGIC: [u8; 8] = *b"BWJOURN\x01";
/// Bytes before the ring.
pub(crate) const HEADER: usize = 4096;
/// Bytes of the ring.
pub(crate) const RING: usize = 1 << 20;
/// Bytes of the ring that only a session's last rows take, the one about losses and its end: however
/// far behind the writer is, both can be kept.
pub(crate) const LAST: usize = ROW_MAX;
/// Bytes before the JSON of a row: its length (u32), four zero bytes, its hash.
pub(crate) const FRAME_HEAD: usize = 40;
/// The longest JSON of a row.
pub(crate) const ROW_MAX: usize = 64 * 1024;

/// Offset of the position up to which rows are whole (u64).
pub(crate) const COMMITTED: usize = 16;
/// Offset of the position up to which rows are in the database (u64).
pub(crate) const DRAINED: usize = 24;
/// Offset of the number of rows that could not be kept (u64).
pub(crate) const LOST: usize = 32;
/// Offset of the word that is not 0 when the index has the head of the whole chain (u64).
pub(crate) const ANCHORED: usize = 40;
/// Offset of the two slots.
pub(crate) const SLOTS: usize = 64;
/// Bytes of a slot.
pub(crate) const SLOT: usize = 64;

/// The chain's head at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Rows up to here; also the number of the last one.
    pub(crate) rows: u64,
    /// The position behind the last row.
    pub(crate) end: u64,
    /// Refusals among the rows.
    pub(crate) refusals: u64,
    /// The hash of the last row.
    pub(crate) head: Hash,
}

impl Slot {
    /// Where the slot of this row stands in the file.
    pub(crate) fn offset(&self) -> usize {
        SLOTS + SLOT * usize::from(self.rows % 2 == 1)
    }

    pub(crate) fn to_bytes(self) -> [u8; 56] {
        let mut bytes = [0; 56];
        bytes[..8].copy_from_slice(&self.rows.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.end.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.refusals.to_le_bytes());
        bytes[24..].copy_from_slice(&self.head);
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            rows: word(bytes, 0)?,
            end: word(bytes, 8)?,
            refusals: word(bytes, 16)?,
            head: bytes.get(24..56)?.try_into().ok()?,
        })
    }
}

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) committed: u64,
    pub(crate) drained: u64,
    pub(crate) lost: u64,
    /// Whether the session was closed and the index says so.
    pub(crate) anchored: bool,
    /// The head at `committed`; none where neither slot belongs to that position.
    pub(crate) slot: Option<Slot>,
}

impl Header {
    /// Reads a header; none where the bytes are too few or are no journal's.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.get(..8)? != MAGIC || word(bytes, 8)? != RING as u64 {
            return None;
        }
        let committed = word(bytes, COMMITTED)?;
        let slot = [SLOTS, SLOTS + SLOT]
            .into_iter()
            .filter_map(|at| Slot::parse(bytes.get(at..)?))
            .find(|slot| slot.end == committed && slot.rows > 0);
        Some(Self {
            committed,
            drained: word(bytes, DRAINED)?,
            lost: word(bytes, LOST)?,
            anchored: word(bytes, ANCHORED)? != 0,
            slot,
        })
    }
}

/// The bytes of a frame with JSON of this length: frames begin at multiples of eight.
pub(crate) fn frame_len(json: usize) -> usize {
    (FRAME_HEAD + json).next_multiple_of(8)
}

/// A row as it stands in the ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) hash: Hash,
    pub(crate) json: &'a [u8],
    /// Bytes of the whole frame.
    pub(crate) len: usize,
}

impl<'a> Frame<'a> {
    /// Reads the frame at the start of `bytes`; none where it is not whole.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let json = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
        if json == 0 || json > ROW_MAX || bytes.get(4..8)? != [0; 4] {
            return None;
        }
        let len = frame_len(json);
        bytes.get(..len)?;
        Some(Self {
            hash: bytes.get(8..FRAME_HEAD)?.try_into().ok()?,
            json: bytes.get(FRAME_HEAD..FRAME_HEAD + json)?,
            len,
        })
    }

    /// Completes a frame in place: `frame` is `FRAME_HEAD` free bytes and the JSON.
    pub(crate) fn seal(frame: &mut Vec<u8>, hash: &Hash) {
        let json = (frame.len() - FRAME_HEAD) as u32;
        frame[..4].copy_from_slice(&json.to_le_bytes());
        frame[4..8].fill(0);
        frame[8..FRAME_HEAD].copy_from_slice(hash);
        frame.resize(frame_len(json as usize), 0);
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
