//! Capabilities beside a call: descriptors from the caller, records for the receiver.
//!
//! Decision: a mode is an enum and not a number once it is read, so that no later code can meet a
//! transfer that is both a copy and a move.

use super::error;
use crate::bytes::{put, u16_at, u32_at, u64_at};

/// Descriptors that a submission may have.
pub const MAX_TRANSFERS: usize = 16;

/// Whether the sender keeps its capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It does.
    Copy,
    /// It does not.
    Move,
}

/// A capability that a call or an answer takes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The sender's capability.
    pub cap_id: u32,
    /// Whether the sender keeps it.
    pub mode: Mode,
}

impl Transfer {
    /// Bytes of a descriptor.
    pub const SIZE: usize = 8;

    /// Reads a descriptor. An unknown mode or a reserved bit is [`error::DESCRIPTOR`].
    pub fn parse(bytes: &[u8; 8]) -> Result<Self, i32> {
        let mode = match (u16_at(bytes, 4), u16_at(bytes, 6)) {
            (1, 0) => Mode::Copy,
            (2, 0) => Mode::Move,
            _ => return Err(error::DESCRIPTOR),
        };
        Ok(Self {
            cap_id: u32_at(bytes, 0),
            mode,
        })
    }

    /// The bytes of the descriptor.
    pub fn to_bytes(&self) -> [u8; 8] {
        let mut bytes = [0; 8];
        put(&mut bytes, 0, &self.cap_id.to_le_bytes());
        bytes[4] = match self.mode {
            Mode::Copy => 1,
            Mode::Move => 2,
        };
        bytes
    }
}

/// Where the descriptors begin: behind the parameters, at a multiple of 4, or nowhere.
pub fn transfers_at(addr: u64, len: u32) -> Option<u64> {
    addr.checked_add(u64::from(len))
        .filter(|start| start % 4 == 0)
}

/// A capability that came with a completion; behind the result's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferResult {
    /// The receiver's capability.
    pub cap_id: u32,
    /// Its interface.
    pub interface_id: u64,
}

impl TransferResult {
    /// Bytes of a record.
    pub const SIZE: usize = 16;

    /// The bytes of the record.
    pub fn to_bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        put(&mut bytes, 0, &self.cap_id.to_le_bytes());
        put(&mut bytes, 8, &self.interface_id.to_le_bytes());
        bytes
    }

    /// Reads a record; the reserved word is not looked at.
    pub fn from_bytes(bytes: &[u8; 16]) -> Self {
        Self {
            cap_id: u32_at(bytes, 0),
            interface_id: u64_at(bytes, 8),
        }
    }
}
