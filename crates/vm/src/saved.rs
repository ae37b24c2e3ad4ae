//! What is known of a machine that was saved, beside its memory and its disk.

use crate::shape::MachineShape;
use bailiwick_event::Failure;
use serde::{Deserialize, Serialize};

/// A machine that was saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// What tells machines apart whose memory and devices would not fit each other.
    pub(crate) mark: String,
    pub(crate) image: String,
    /// Bytes.
    pub(crate) memory: u64,
    pub(crate) cpus: u32,
    /// Bytes.
    pub(crate) disk: u64,
    /// Which streams of the session's own command are its terminal, where it has one.
    pub(crate) terminal: Option<[bool; 3]>,
    /// Where in the file of its state its pages begin, where only those are there that it has written
    /// since it began as a copy of [`RAM`](crate::kept::RAM).
    #[serde(default)]
    pub(crate) pages: Option<u64>,
}

impl Saved {
    /// Reads what [`Saved::to_bytes`] made.
    ///
    /// # Errors
    /// A [`Failure`] where another version of the product made it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        serde_json::from_slice(bytes).map_err(|error| {
            Failure::fault(format!(
                "the machine that was saved cannot be read: {error}\n  remedy: it was saved by another \
                 version of bailiwick; go on with that one"
            ))
        })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether the session's own command has a terminal.
    #[must_use]
    pub fn has_terminal(&self) -> bool {
        self.terminal.is_some()
    }

    /// The shape of such a machine.
    #[must_use]
    pub fn shape(&self) -> MachineShape {
        MachineShape {
            image: self.image.clone(),
            memory: Some(self.memory),
            cpus: self.cpus,
            disk: Some(self.disk),
            ..MachineShape::default()
        }
    }
}
