//! What servers have said, for as long as they said it holds. A program chooses the questions, so
//! entries and bytes are bounded, and the oldest goes first: what a flood costs is questions that
//! are asked again, and nothing else.

use super::{Found, Question};
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Answers that are kept.
const MAX_ENTRIES: usize = 1024;
/// Their bytes together.
const MAX_BYTES: usize = 1 << 20;
/// What an entry costs beside its records.
const ENTRY: usize = 512;

/// Answers and when they were given.
#[derive(Default)]
pub(super) struct Cache {
    entries: HashMap<Question, (Found, Instant)>,
    /// In the order of their arrival; one that was given again stands at its last place.
    order: VecDeque<(Question, Instant)>,
    bytes: usize,
}

impl Cache {
    /// What is known, with the seconds that it still holds.
    pub(super) fn get(&self, question: &Question, now: Instant) -> Option<Found> {
        let (found, since) = self.entries.get(question)?;
        let age = now.saturating_duration_since(*since);
        let left = Duration::from_secs(found.ttl.into()).checked_sub(age)?;
        // The last second counts whole, or an answer that holds would say that it does not.
        let left = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        let ttl = u32::try_from(left).ok().filter(|ttl| *ttl > 0)?;
        Some(Found {
            ttl,
            ..found.clone()
        })
    }

    /// Keeps an answer.
    pub(super) fn put(&mut self, question: Question, found: Found, now: Instant) {
        if found.ttl == 0 {
            return;
        }
        self.remove(&question);
        self.bytes += ENTRY + found.bytes;
        self.order.push_back((question.clone(), now));
        self.entries.insert(question, (found, now));
        while self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            self.drop_oldest();
        }
        // What was given again leaves its former place behind.
        while self.order.len() > 2 * MAX_ENTRIES {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some((question, since)) = self.order.pop_front() else {
            return;
        };
        if self
            .entries
            .get(&question)
            .is_some_and(|(_, at)| *at == since)
        {
            self.remove(&question);
        }
    }

    fn remove(&mut self, question: &Question) {
        if let Some((found, _)) = self.entries.remove(question) {
            self.bytes -= ENTRY + found.bytes;
        }
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
