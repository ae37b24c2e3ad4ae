//! Every match of a pattern replaced, within bounds on the work and on what comes of it: a text of
//! a program's in a pattern of a project's is nobody's friend.

use super::RewriteError;
use crate::eval::pattern;
use regex::{Captures, Regex, RegexBuilder};
use std::cell::Cell;

/// Bytes of a compiled pattern. To know where a group matched takes more than to know that it did.
const LARGEST: usize = 64 << 10;
/// States of a pattern times bytes of the texts of one event.
const WORK: usize = 1 << 28;
/// Bytes of the new texts of one event.
const MADE: usize = 16 << 20;

/// A pattern and what stands instead of its matches, for one event.
pub(super) struct Replacement<'r> {
    regex: Regex,
    states: usize,
    /// Bytes of the longest match, where there is a longest.
    longest: Option<usize>,
    with: &'r str,
    work: Cell<usize>,
    room: Cell<usize>,
}

impl<'r> Replacement<'r> {
    /// Reads a pattern.
    pub(super) fn new(pattern: &str, with: &'r str) -> Result<Self, RewriteError> {
        let (states, longest) = pattern::measures(pattern).map_err(RewriteError)?;
        let regex = RegexBuilder::new(pattern).size_limit(LARGEST).build();
        let large = |_| {
            RewriteError("the regular expression becomes too large to replace by; use fewer or smaller repetitions".into())
        };
        Ok(Self {
            regex: regex.map_err(large)?,
            states,
            longest,
            with,
            work: Cell::new(WORK),
            room: Cell::new(MADE),
        })
    }

    /// The text that comes of a text; none where nothing in it matches.
    pub(super) fn of(&self, text: &str) -> Result<Option<String>, RewriteError> {
        // To know that nothing matches, all of it is looked at.
        self.look_at(text.len())?;
        let (mut new, mut at, mut any) = (String::new(), 0, false);
        for found in self.regex.captures_iter(text) {
            let whole = found.get_match();
            // A match may have been looked for to the end of the text, and nothing learned of it.
            let beyond = self
                .longest
                .map_or(usize::MAX, |longest| whole.start() - at + longest);
            self.look_at(beyond.min(text.len() - at))?;
            self.take(whole.start() - at + self.largest(&found))?;
            new.push_str(&text[at..whole.start()]);
            found.expand(self.with, &mut new);
            at = whole.end();
            any = true;
        }
        if !any {
            return Ok(None);
        }
        self.take(text.len() - at)?;
        new.push_str(&text[at..]);
        Ok(Some(new))
    }

    /// Counts the work of looking at so many bytes.
    fn look_at(&self, bytes: usize) -> Result<(), RewriteError> {
        let work = self.states.saturating_mul(bytes);
        let Some(left) = self.work.get().checked_sub(work) else {
            let message = "the event is too long for this regular expression; give its repetitions an end, such as {1,64}";
            return Err(RewriteError(message.into()));
        };
        self.work.set(left);
        Ok(())
    }

    /// Bytes that stand instead of a match, at most.
    fn largest(&self, found: &Captures<'_>) -> usize {
        let groups = self.with.bytes().filter(|b| *b == b'$').count();
        groups.saturating_mul(found.get_match().len()) + self.with.len()
    }

    fn take(&self, bytes: usize) -> Result<(), RewriteError> {
        let left = self.room.get().checked_sub(bytes);
        self.room.set(left.unwrap_or(0));
        let message = || {
            RewriteError(format!(
                "what would come of it has more than {} MiB",
                MADE >> 20
            ))
        };
        left.map(|_| ()).ok_or_else(message)
    }
}
