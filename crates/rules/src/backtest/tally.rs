//! What was found in a part of the events, and the same of all parts before it.
//!
//! Decision: a part counts every signature and makes rows of the first ones alone, as many as the
//! whole may have. That is enough for parts that are put together in order to give exactly the
//! rows and counts that one thread would have found.

use super::{Place, Row};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// The most rows.
    limit: usize,
    /// Whether events of one signature are one row.
    together: bool,
    pub(super) rows: Vec<Row>,
    counts: HashMap<u128, u64, FixedState>,
    /// Rules that were true of an event, over all events.
    hits: u64,
    /// Events that a rule was true of.
    pub(super) matched: u64,
    pub(super) events: u64,
    pub(super) skipped: u64,
}

impl Tally {
    pub(super) fn new(limit: usize, together: bool) -> Self {
        Self {
            limit,
            together,
            ..Self::default()
        }
    }

    /// One like it that has counted nothing.
    pub(super) fn empty(&self) -> Self {
        Self::new(self.limit, self.together)
    }

    /// Counts a rule that is true of an event.
    #[inline]
    pub(super) fn add(&mut self, signature: u128, row: impl FnOnce() -> Row) {
        self.hits += 1;
        if self.together {
            match self.counts.entry(signature) {
                Entry::Occupied(mut count) => {
                    *count.get_mut() += 1;
                    return;
                }
                Entry::Vacant(count) => drop(count.insert(1)),
            }
        }
        if self.rows.len() < self.limit {
            self.rows.push(row());
        }
    }

    /// How often it was true of an event that no row stands for.
    pub(super) fn truncated(&self) -> u64 {
        let shown: u64 = match self.together {
            true => self.rows.iter().map(|row| row.count).sum(),
            false => self.rows.len() as u64,
        };
        self.hits - shown
    }

    /// Adds the part that follows; `lines` stand before it in its file.
    pub(super) fn merge(&mut self, mut part: Self, lines: u64) {
        self.hits += part.hits;
        self.matched += part.matched;
        self.events += part.events;
        self.skipped += part.skipped;
        if part.hits == 0 {
            return;
        }
        if self.together {
            for row in &mut self.rows {
                row.count += part.counts.remove(&row.signature).unwrap_or(0);
            }
        }
        for mut row in part.rows {
            if self.rows.len() == self.limit {
                break;
            }
            if let Place::Line { line, .. } = &mut row.event {
                *line += lines;
            }
            if self.together {
                // A signature that has a row was taken out above.
                let Some(count) = part.counts.remove(&row.signature) else {
                    continue;
                };
                row.count = count;
            }
            self.rows.push(row);
        }
    }
}
