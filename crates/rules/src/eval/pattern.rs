//! Patterns. A pattern is compiled with a bound on its size, and matched in time linear in the
//! text and, at worst, in the pattern.
//!
//! Decision: a match is made by an automaton that is built while it is used, a nanosecond a byte,
//! in memory that is bounded for all patterns of a thread together. Where a pattern and a text were
//! made for each other so that this does not pay, the automaton gives up; then every state of the
//! pattern may have to be looked at for every byte, which happens only as far as the steps go.

use crate::expr::NodeId;
use globset::GlobBuilder;
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{Input, MatchKind};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a compiled pattern.
const LARGEST: usize = 1 << 20;
/// Bytes of a pattern.
const LONGEST: usize = 16 * 1024;
/// Bytes of memory that a byte of a pattern stands for: what it takes to read it.
const READING: usize = 64;
/// Bytes of all patterns of a condition, compiled.
const LARGEST_TOGETHER: usize = 16 << 20;
/// How many patterns a condition may have.
const MOST: usize = 100;
/// Bytes of the automaton of one pattern.
const AUTOMATON: usize = 1 << 20;
/// Bytes of the automata of one thread.
const AUTOMATA: usize = 32 << 20;
/// Bytes by which an automaton grows, times states of its pattern, that take as long as a step.
const MAKING: usize = 16 * 1024;
/// Steps from which on it matters whether the automaton gives up.
const DECISIVE: usize = 100_000;

const TOO_LARGE: &str =
    "the regular expression becomes too large; use fewer or smaller repetitions";

/// A pattern that a text matches or not.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// Its number among all; none for a pattern that is matched once, whose automaton is not kept.
    number: Option<u64>,
    dfa: DFA,
    memory: usize,
}

/// A regular expression in RE2's syntax.
pub(crate) fn regex(pattern: &str) -> Result<Pattern, String> {
    Pattern::new(pattern, false)
}

/// A pattern with `*`, `**`, `?`, classes and alternatives, as a regular expression.
pub(crate) fn glob(pattern: &str) -> Result<Pattern, String> {
    not_too_long(pattern)?;
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| format!("the pattern is none: {}", error.kind()))?;
    Pattern::new(&of_characters(glob.regex()), true)
}

/// How many states a regular expression has, and the bytes of its longest match where there is a
/// longest.
pub(crate) fn measures(pattern: &str) -> Result<(usize, Option<usize>), String> {
    let meaning = parsed(pattern, false)?;
    Ok((
        machine(&meaning)?.states().len(),
        meaning.properties().maximum_len(),
    ))
}

fn not_too_long(pattern: &str) -> Result<(), String> {
    match pattern.len() > LONGEST {
        true => Err(format!(
            "a pattern has at most {LONGEST} bytes; make several patterns of it"
        )),
        false => Ok(()),
    }
}

/// What a regular expression means.
fn parsed(pattern: &str, any_is_any: bool) -> Result<Hir, String> {
    not_too_long(pattern)?;
    let mut parser = ParserBuilder::new()
        .nest_limit(96)
        .dot_matches_new_line(any_is_any)
        .build();
    parser.parse(pattern).map_err(|error| {
        // The last line says what is wrong; those before draw where, for a terminal.
        let text = error.to_string();
        let line = text.lines().last().unwrap_or_default();
        let what = line.strip_prefix("error: ").unwrap_or(line);
        format!("the regular expression is none: {what}")
    })
}

/// The states that a text goes through.
fn machine(meaning: &Hir) -> Result<NFA, String> {
    let config = NFA::config()
        .nfa_size_limit(Some(LARGEST))
        .which_captures(WhichCaptures::None);
    let built = thompson::Compiler::new()
        .configure(config)
        .build_from_hir(meaning);
    built.map_err(|_| TOO_LARGE.to_owned())
}

impl Pattern {
    fn new(pattern: &str, any_is_any: bool) -> Result<Self, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let meaning = parsed(pattern, any_is_any)?;
        let nfa = machine(&meaning)?;
        let found = Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, &meaning);
        let found = found.filter(Prefilter::is_fast);
        let config = Config::new()
            .specialize_start_states(found.is_some())
            .prefilter(found)
            .unicode_word_boundary(true)
            .cache_capacity(AUTOMATON)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(3))
            // To make a state may cost as much as the pattern has states.
            .minimum_bytes_per_state(Some(10.max(nfa.states().len() / 4)));
        let dfa = DFA::builder()
            .configure(config)
            .build_from_nfa(nfa)
            .map_err(|_| TOO_LARGE)?;
        Ok(Self {
            number: Some(NUMBER.fetch_add(1, Ordering::Relaxed)),
            // To read it may take long however little it becomes, and counts as well.
            memory: size_of::<Self>()
                + dfa.memory_usage()
                + dfa.get_nfa().memory_usage()
                + READING * pattern.len(),
            dfa,
        })
    }

    /// Bytes that it takes, without the automaton of a thread.
    fn memory(&self) -> usize {
        self.memory
    }

    /// The same, to be matched once.
    pub(super) fn once(mut self) -> Self {
        self.number = None;
        self
    }

    /// How many states it has: what it may cost at worst to look at a byte.
    fn states(&self) -> usize {
        self.dfa.get_nfa().states().len()
    }

    /// Whether a text matches; none where there were not as many steps as that takes.
    pub(crate) fn is_match(&self, text: &str, take: impl Fn(usize) -> bool) -> Option<bool> {
        if !take(1 + text.len() / 64) {
            return None;
        }
        let input = Input::new(text).earliest(true);
        let worst = self.states().saturating_mul(text.len()) / 64;
        let (found, grown) = with_automaton(self, |cache| {
            // What earlier texts made of it must not decide whether it gives up on this one.
            if cache.clear_count() > 0 || worst > DECISIVE {
                cache.reset(&self.dfa);
            }
            let before = cache.memory_usage();
            let found = self.dfa.try_search_fwd(cache, &input);
            let cleared = cache.clear_count().saturating_mul(AUTOMATON);
            (found, cleared + cache.memory_usage().saturating_sub(before))
        });
        // To make a state of the automaton may take a look at every state of the pattern.
        let making = grown.saturating_mul(self.states()) / MAKING;
        if let Ok(found) = found {
            return take(making).then_some(found.is_some());
        }
        if !take(making.saturating_add(worst)) {
            return None;
        }
        let machine = PikeVM::new_from_nfa(self.dfa.get_nfa().clone()).ok()?;
        Some(machine.is_match(&mut machine.create_cache(), input))
    }
}

/// The patterns that stand in a condition, read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns(Vec<(NodeId, Arc<Pattern>)>);

impl Patterns {
    /// Adds that which stands at a node.
    ///
    /// # Errors
    /// What is too much for one condition, and what to write instead.
    pub(crate) fn add(
        &mut self,
        at: NodeId,
        pattern: Pattern,
    ) -> Result<(), (String, &'static str)> {
        let instead = "make several rules of it, or one pattern of several: (a|b)";
        if self.0.len() == MOST {
            return Err((format!("a condition has at most {MOST} patterns"), instead));
        }
        self.0.push((at, Arc::new(pattern)));
        if self.memory() > LARGEST_TOGETHER {
            self.0.pop();
            let most = LARGEST_TOGETHER >> 20;
            let message = format!("the patterns of a condition take at most {most} MiB");
            return Err((message, instead));
        }
        Ok(())
    }

    /// The pattern that stands at a node.
    pub(crate) fn get(&self, at: NodeId) -> Option<&Arc<Pattern>> {
        let found = self.0.iter().find(|(id, _)| *id == at);
        found.map(|(_, pattern)| pattern)
    }

    /// Bytes that they take.
    pub(crate) fn memory(&self) -> usize {
        self.0.iter().map(|(_, pattern)| pattern.memory()).sum()
    }
}

/// The automata of a thread.
#[derive(Default)]
struct Automata {
    of: HashMap<u64, Cache, foldhash::fast::FixedState>,
    bytes: usize,
}

thread_local! {
    static AUTOMATA_HERE: RefCell<Automata> = RefCell::default();
}

/// Does something with a pattern's automaton, and begins all of the thread's anew where they have
/// become too large together.
fn with_automaton<T>(pattern: &Pattern, work: impl FnOnce(&mut Cache) -> T) -> T {
    let Some(number) = pattern.number else {
        return work(&mut pattern.dfa.create_cache());
    };
    AUTOMATA_HERE.with_borrow_mut(|Automata { of, bytes }| {
        let (cache, before) = match of.entry(number) {
            Entry::Occupied(there) => {
                let cache = there.into_mut();
                let before = cache.memory_usage();
                (cache, before)
            }
            Entry::Vacant(free) => (free.insert(pattern.dfa.create_cache()), 0),
        };
        let result = work(cache);
        *bytes = (*bytes + cache.memory_usage()).saturating_sub(before);
        if *bytes > AUTOMATA {
            *of = HashMap::default();
            *bytes = 0;
        }
        result
    })
}

/// An expression about bytes, as the library writes it, as one about characters: `?` stands for a
/// character and not for one of its bytes.
fn of_characters(expression: &str) -> String {
    let mut out = Vec::with_capacity(expression.len());
    let plain = expression.strip_prefix("(?-u)").unwrap_or(expression);
    let mut rest = plain.as_bytes().iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let hex = rest
            .clone()
            .skip(1)
            .take(2)
            .map(char::from)
            .collect::<String>();
        match (rest.next(), u8::from_str_radix(&hex, 16)) {
            (Some(b'x'), Ok(byte)) => {
                out.push(byte);
                rest.nth(1);
            }
            (Some(escaped), _) => out.extend([b'\\', escaped]),
            (None, _) => out.push(b'\\'),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
