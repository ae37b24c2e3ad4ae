//! What a machine comes from: its kernel's start, a template, or what was saved of it.

use crate::control::Control;
use crate::machine::Ram;
use crate::start::Behind;
use crate::warm::{Warm, restore};
use bailiwick_event::Failure;
use std::path::PathBuf;

/// What is said of a machine that does not go on where it was.
pub(crate) const STARTED_ANEW: &str = "it was started anew with its disk; what was only in its memory is lost, and the command begins again";

/// What a machine comes from.
pub(crate) enum Source {
    /// Its kernel is started.
    Nothing,
    /// It is a copy of a template.
    Template(Warm),
    /// It goes on as it was saved in this file.
    Saved(PathBuf),
}

impl Source {
    /// The files behind it, but for a disk.
    pub(crate) fn behind(&self) -> Behind<'_> {
        match self {
            Self::Nothing => Behind::NOTHING,
            Self::Template(warm) => warm.behind(),
            Self::Saved(_) => Behind {
                ram: Ram::Loaded,
                ..Behind::NOTHING
            },
        }
    }

    /// Has the monitor become it.
    pub(crate) fn restore(&self, control: &mut Control) -> Result<(), Failure> {
        match self {
            Self::Nothing => Ok(()),
            Self::Template(warm) => warm.restore(control),
            Self::Saved(state) => restore(state, control),
        }
    }

    /// Takes a template away that does not serve.
    pub(crate) fn discard(&self) {
        if let Self::Template(warm) = self {
            warm.discard();
        }
    }

    /// What is said where that failed.
    pub(crate) fn lost(&self, why: &Failure) -> String {
        match self {
            Self::Nothing | Self::Template(_) => format!(
                "the template of this machine could not be used, so it was started anew: {why}"
            ),
            Self::Saved(_) => {
                format!("the machine cannot go on as it was saved ({why}), so {STARTED_ANEW}")
            }
        }
    }
}
