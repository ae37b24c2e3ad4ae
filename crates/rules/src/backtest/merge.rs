//! The parts that threads give back, put together in the order of the corpus.
//!
//! Decision: nothing that is told depends on which thread was quicker, so a part waits for those
//! before it. Few wait at a time: a thread that is ahead reads no further piece meanwhile.

use super::scan::{Part, TOLD};
use super::tally::Tally;
use super::{CorpusError, Mistake, Progress};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct Merge<'m> {
    total: &'m mut Tally,
    mistakes: &'m mut Vec<Mistake>,
    /// The number of the part that is next.
    next: u64,
    waiting: BTreeMap<u64, Part>,
    /// The file of the last part, and its lines so far.
    file: usize,
    lines: u64,
    progress: Progress,
    pub(super) stopped: Option<CorpusError>,
}

impl<'m> Merge<'m> {
    pub(super) fn new(total: &'m mut Tally, mistakes: &'m mut Vec<Mistake>, bytes: u64) -> Self {
        Self {
            total,
            mistakes,
            next: 0,
            waiting: BTreeMap::new(),
            file: 0,
            lines: 0,
            progress: Progress {
                events: 0,
                bytes: 0,
                of: bytes,
            },
            stopped: None,
        }
    }

    /// How many parts wait for one that is not there.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes a part, and tells how far all is.
    pub(super) fn put(&mut self, part: Part, tell: &dyn Fn(Progress)) {
        self.waiting.insert(part.chunk.number, part);
        while let Some(part) = self.waiting.remove(&self.next) {
            self.next += 1;
            if self.stopped.is_none() {
                self.add(part);
                tell(self.progress);
            }
        }
    }

    fn add(&mut self, part: Part) {
        if part.chunk.file != self.file {
            (self.file, self.lines) = (part.chunk.file, 0);
        }
        self.progress.events += part.tally.events;
        self.progress.bytes += part.chunk.size as u64;
        self.total.merge(part.tally, self.lines);
        for mut mistake in part.mistakes {
            if self.mistakes.len() < TOLD {
                mistake.line += self.lines;
                self.mistakes.push(mistake);
            }
        }
        if let Some(mut stopped) = part.stopped {
            if let CorpusError::Line(mistake) = &mut stopped {
                mistake.line += self.lines;
            }
            self.stopped = Some(stopped);
        }
        self.lines += part.lines;
    }
}
