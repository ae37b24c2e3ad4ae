//! What is known of a machine that was saved, beside its memory and its disk.

use crate::accelerator::Accelerator;
use crate::shape::MachineShape;
use bailiwick_event::Failure;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

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
    /// Whether its memory begins as a copy of [`RAM`](crate::kept::RAM), and the file of its state ends with
    /// where its pages begin.
    #[serde(default)]
    pub(crate) copied: bool,
    /// What it ran on: its memory and devices fit no other.
    #[serde(default)]
    pub(crate) accelerator: Option<Accelerator>,
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
            // A machine that was translated can be that anywhere; whether there is another is found out anew.
            accelerator: self.accelerator.filter(|on| *on == Accelerator::Tcg),
            ..MachineShape::default()
        }
    }
}

/// Writes behind a machine's state where in the file the pages begin that it has written of its memory; none
/// where the state has all of it. That is known last, when a copy may have begun already.
pub(crate) fn end_with(pages: Option<u64>, state: &mut File) -> io::Result<()> {
    state.write_all(&pages.unwrap_or(0).to_le_bytes())
}

/// What [`end_with`] wrote; the file is then at its beginning.
pub(crate) fn read_end(state: &mut File) -> io::Result<Option<u64>> {
    let mut at = [0; 8];
    state.seek(SeekFrom::End(-8))?;
    state.read_exact(&mut at)?;
    state.rewind()?;
    Ok(Some(u64::from_le_bytes(at)).filter(|at| *at != 0))
}

#[cfg(test)]
#[path = "saved_tests.rs"]
mod tests;
