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

/// Steps of the parts of one condition that no event changes, when it is compiled.
const COMPILATION: u32 = 10_000;

/// Steps of all rules, or of all detections, about one event. Besides what is a step of an
/// evaluation, a kilobyte of a long text that is looked through is one.
pub const MAX_EVENT_STEPS: u32 = 4_000_000;

/// The steps that may still be taken.
#[derive(Debug)]
pub struct Steps {
    left: Cell<u32>,
    ran_out: Cell<bool>,
}

impl Steps {
    fn new(steps: u32) -> Self {
        Self {
            left: Cell::new(steps),
            ran_out: Cell::new(false),
        }
    }

    /// Those of one event.
    #[must_use]
    #[inline]
    pub fn of_event() -> Self {
        Self::new(MAX_EVENT_STEPS)
    }

    /// Those of the parts of one condition that no event changes.
    pub(crate) fn of_compilation() -> Self {
        Self::new(COMPILATION)
    }

    /// Those of one evaluation for an event.
    pub(super) fn of_evaluation(&self) -> Self {
        Self::new(self.left.get().min(MAX_STEPS))
    }

    /// Takes steps; says whether there were as many. Where there were not, none is left.
    pub(crate) fn take(&self, steps: usize) -> bool {
        let left = usize::try_from(self.left.get()).unwrap_or(usize::MAX);
        let rest = left.checked_sub(steps);
        let rest = rest.and_then(|rest| u32::try_from(rest).ok());
        self.left.set(rest.unwrap_or(0));
        if rest.is_none() {
            self.ran_out.set(true);
        }
        rest.is_some()
    }

    /// Takes those that an evaluation took, which was allowed so many.
    pub(super) fn take_of(&self, evaluation: &Self, allowed: u32) {
        self.left.set(
            self.left
                .get()
                .saturating_sub(allowed - evaluation.left.get()),
        );
        if evaluation.ran_out.get() {
            self.ran_out.set(true);
        }
    }

    /// How many are left.
    pub(super) fn left(&self) -> u32 {
        self.left.get()
    }

    /// Whether something had no value because it had not as many as it takes.
    #[must_use]
    pub fn ran_out(&self) -> bool {
        self.ran_out.get()
    }
}
