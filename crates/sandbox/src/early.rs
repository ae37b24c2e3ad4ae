//! A sandbox that is begun before anybody has read what it is for: its first process makes its
//! namespaces while the command line and the policy are read.

use crate::backend::{Backend, Prepared, TerminalShape};
use crate::startup::{self, Stage};
use crate::{terminal, warm};
use bailiwick_event::Failure;

/// The sandbox. Dropping it ends it.
pub struct Early {
    pub(crate) shape: Option<TerminalShape>,
    pub(crate) prepared: Result<Box<dyn Prepared>, Failure>,
}

impl Early {
    /// Begins one for a run that will most probably come; none where it may find one that waits,
    /// unless it is a `cold` run that takes none. The calling process has one thread.
    #[must_use]
    pub fn begin(backend: &dyn Backend, cold: bool) -> Option<Self> {
        (cold || !warm::anything_waits()).then(|| Self::now(backend))
    }

    /// Begins one for a command that has no terminal, whatever this process has.
    #[must_use]
    pub fn without_terminal(backend: &dyn Backend) -> Self {
        Self {
            shape: None,
            prepared: backend.prepare(None),
        }
    }

    /// Begins one.
    pub(crate) fn now(backend: &dyn Backend) -> Self {
        let shape = terminal::shape();
        let prepared = backend.prepare(shape.clone());
        startup::mark(Stage::Fork);
        Self { shape, prepared }
    }
}
