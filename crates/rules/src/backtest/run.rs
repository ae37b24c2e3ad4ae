//! A backtest: one question, many events, from files by several threads and from sessions one
//! after the other.

use super::chunks::Chunks;
use super::merge::Merge;
use super::question::Question;
use super::scan::scan;
use super::tally::Tally;
use super::{Corpus, CorpusError, Mistake, Place, Report, RuleCount};
use crate::lower::{CompileError, Program};
use crate::rule::Compiled;
use bailiwick_event::Event;
use bailiwick_event::fields::Projection;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Parts that may wait for one that is not there, for each thread.
const AHEAD: usize = 4;

/// How a backtest is made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The most rows of the report.
    pub limit: usize,
    /// How many threads read a corpus.
    pub threads: usize,
    /// Whether a line that is no event is counted; otherwise it is the end.
    pub keep_going: bool,
    /// The time at which rules are asked, in seconds since the Unix epoch.
    pub now: i64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limit: 100,
            threads: 2,
            keep_going: false,
            now: 0,
        }
    }
}

/// How far a corpus was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Events that were asked.
    pub events: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// The bytes of the corpus, as far as they are known.
    pub of: u64,
}

/// Asks recorded events.
#[derive(Debug)]
pub struct Backtest {
    question: Question,
    options: Options,
    total: Tally,
    mistakes: Vec<Mistake>,
    counts: Vec<RuleCount>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that died takes the whole scope with it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Backtest {
    /// Asks what these rules would have done. Those that are not enabled, or have ceased to be in
    /// force, are not asked.
    #[must_use]
    pub fn rules(rules: &[Arc<Compiled>], options: Options) -> Self {
        Self::new(Question::rules(rules, options.now), options, true)
    }

    /// Asks which events a condition is true of, whatever their type; each is a row of its own.
    ///
    /// # Errors
    /// [`CompileError`] where it is no condition.
    pub fn hunt(condition: &str, options: Options) -> Result<Self, CompileError> {
        let program = Program::compile(condition, None)?;
        Ok(Self::new(Question::hunt(program.into()), options, false))
    }

    fn new(question: Question, options: Options, together: bool) -> Self {
        Self {
            counts: question.counts(),
            question,
            options,
            total: Tally::new(options.limit, together),
            mistakes: Vec::new(),
        }
    }

    /// Asks every line of a corpus; now and then how far it is.
    ///
    /// # Errors
    /// [`CorpusError`] where a file cannot be read, or where a line is no event and
    /// [`Options::keep_going`] is not set.
    pub fn corpus(
        &mut self,
        corpus: &Corpus,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(), CorpusError> {
        let empty = self.total.empty();
        let chunks = Mutex::new(Chunks::new(corpus));
        let merge = Merge::new(&mut self.total, &mut self.mistakes, corpus.bytes());
        let (merge, moved) = (Mutex::new(merge), Condvar::new());
        let (options, threads) = (self.options, self.options.threads.max(1));
        let work = |question: &Question| {
            let mut buffer = Vec::new();
            loop {
                let mut merged = lock(&merge);
                while merged.stopped.is_none() && merged.waiting() >= AHEAD * threads {
                    merged = moved.wait(merged).unwrap_or_else(PoisonError::into_inner);
                }
                if merged.stopped.is_some() {
                    return question.counts();
                }
                drop(merged);
                let Some(chunk) = lock(&chunks).next(&mut buffer) else {
                    return question.counts();
                };
                let (_, file) = &corpus.files[chunk.file];
                let tally = (empty.clone(), options.keep_going);
                let part = scan(question, (chunk, &buffer, file), tally);
                lock(&merge).put(part, progress);
                moved.notify_all();
            }
        };
        let work = &work;
        let counted: Vec<Vec<RuleCount>> = std::thread::scope(|scope| {
            let start = |_| {
                let question = self.question.apart();
                scope.spawn(move || work(&question))
            };
            let threads: Vec<_> = (0..threads).map(start).collect();
            let ended = threads.into_iter().map(|thread| match thread.join() {
                Ok(counts) => counts,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            ended.collect()
        });
        let stopped = lock(&merge).stopped.take();
        for counts in counted {
            for (total, count) in self.counts.iter_mut().zip(counts) {
                total.matched += count.matched;
                total.failed += count.failed;
            }
        }
        stopped.map_or(Ok(()), Err)
    }

    /// Asks an event of a session; one that no rule can be about is passed over.
    pub fn event(&mut self, session: &Arc<str>, event: &Event) {
        let Some(projection) = Projection::of_event(event, session) else {
            return;
        };
        let place = || Place::Event {
            session: Arc::clone(session),
            id: event.id,
        };
        let mut part = self.total.empty();
        self.question.ask(&projection.subject(), &mut part, place);
        self.total.merge(part, 0);
    }

    /// What was found.
    #[must_use]
    pub fn report(self) -> Report {
        let truncated = self.total.truncated();
        let mut rules = self.counts;
        // Those of sessions, which were asked here.
        for (total, count) in rules.iter_mut().zip(self.question.counts()) {
            total.matched += count.matched;
            total.failed += count.failed;
        }
        Report {
            rows: self.total.rows,
            events: self.total.events,
            matched: self.total.matched,
            truncated,
            skipped: self.total.skipped,
            mistakes: self.mistakes,
            rules,
        }
    }
}
