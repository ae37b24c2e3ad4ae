//! What it may cost to judge an event.
//!
//! Decision: a rule, a set of rules and an event are all somebody else's, and each of them bounded
//! alone is not bounded together. What takes long counts its steps, one account for all that is
//! asked about an event; when it is spent, what is left has no value, which stops what a rule would
//! stop. A clock would decide the same event in two ways.

use std::cell::Cell;

/// Steps of one evaluation: a part of the tree, an element of a list that is looked at, and 64
/// bytes of a text are a step each.
pub const MAX_STEPS: u32 = 1_000_000;

/// Steps of all rules, or of all detections, about one event. Besides what is a step of an
/// evaluation, a kilobyte of a long text that is looked through is one.
pub const MAX_EVENT_STEPS: u32 = 4_000_000;

/// The steps that may still be taken.
#[derive(Debug)]
pub struct Steps(Cell<u32>);

impl Steps {
    /// Those of one event.
    #[must_use]
    #[inline]
    pub fn of_event() -> Self {
        Self(Cell::new(MAX_EVENT_STEPS))
    }

    /// Those of one evaluation for an event.
    pub(super) fn of_evaluation(&self) -> Self {
        Self(Cell::new(self.0.get().min(MAX_STEPS)))
    }

    /// Takes steps; says whether there were as many. Where there were not, none is left.
    pub(crate) fn take(&self, steps: usize) -> bool {
        let left = usize::try_from(self.0.get()).unwrap_or(usize::MAX);
        let rest = left.checked_sub(steps);
        let rest = rest.and_then(|rest| u32::try_from(rest).ok());
        self.0.set(rest.unwrap_or(0));
        rest.is_some()
    }

    /// How many are left.
    pub(super) fn left(&self) -> u32 {
        self.0.get()
    }

    /// Whether none is left: what was asked last, or what would be asked next, has no value.
    #[must_use]
    pub fn are_over(&self) -> bool {
        self.0.get() == 0
    }
}
