//! The `condition` of a rule: selections joined by `and`, `or`, `not`, parentheses and `1 of`,
//! `any of` and `all of`. `not` binds most strongly and `or` least. What counts events or looks at
//! their order has no counterpart and is an error.

use super::detection::{Condition, MAX_DEPTH};
use super::skipped::Reason;

/// Bytes of the longest condition.
const MAX_LENGTH: usize = 8 * 1024;

/// The selections of a rule by their names.
pub(super) trait Selections {
    /// Every name, in the order of the rule.
    fn names(&self) -> Vec<&str>;
    /// What a selection says.
    fn get(&mut self, name: &str) -> Result<Condition, Stop>;
}

/// Why a condition could not be read: for a reason of its own, or for that of a selection, which
/// has a place of its own.
pub(super) enum Stop {
    Here(Reason),
    Elsewhere(super::skipped::Skipped),
}

fn stop<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Here(Reason::Condition(why.into())))
}

pub(super) fn read(text: &str, selections: &mut dyn Selections) -> Result<Condition, Stop> {
    if text.len() > MAX_LENGTH {
        let why = format!("a condition has at most {MAX_LENGTH} bytes");
        return Err(Stop::Here(Reason::Limit(why)));
    }
    let mut parser = Parser {
        words: words(text),
        at: 0,
        depth: 0,
        selections,
    };
    let condition = parser.any()?;
    match parser.peek() {
        None => Ok(condition),
        Some(word) => parser.stray(word),
    }
}

/// Words, parentheses and bars.
fn words(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    for part in text.split_whitespace() {
        let mut rest = part;
        while let Some(at) = rest.find(['(', ')', '|']) {
            if at > 0 {
                all.push(&rest[..at]);
            }
            all.push(&rest[at..=at]);
            rest = &rest[at + 1..];
        }
        if !rest.is_empty() {
            all.push(rest);
        }
    }
    all
}

struct Parser<'t> {
    words: Vec<&'t str>,
    at: usize,
    depth: usize,
    selections: &'t mut dyn Selections,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<&'t str> {
        self.words.get(self.at).copied()
    }

    fn is(&self, at: usize, word: &str) -> bool {
        let found = self.words.get(at);
        found.is_some_and(|found| found.eq_ignore_ascii_case(word))
    }

    fn take(&mut self, word: &str) -> bool {
        let there = self.is(self.at, word);
        self.at += usize::from(there);
        there
    }

    fn stray<T>(&self, word: &str) -> Result<T, Stop> {
        match word {
            "|" => stop("what is counted over several events (\"| …\") is not supported"),
            _ if word.eq_ignore_ascii_case("near") => {
                stop("\"near\" looks at several events, which is not supported")
            }
            _ => stop(format!(
                "\"and\" or \"or\" is expected and {word:?} stands here"
            )),
        }
    }

    fn any(&mut self) -> Result<Condition, Stop> {
        let mut all = vec![self.all()?];
        while self.take("or") {
            all.push(self.all()?);
        }
        Ok(Condition::any(all))
    }

    fn all(&mut self) -> Result<Condition, Stop> {
        let mut all = vec![self.one()?];
        while self.take("and") {
            all.push(self.one()?);
        }
        Ok(Condition::all(all))
    }

    fn one(&mut self) -> Result<Condition, Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let why = format!("a condition has at most {MAX_DEPTH} levels");
            return Err(Stop::Here(Reason::Limit(why)));
        }
        let one = self.inner();
        self.depth -= 1;
        one
    }

    fn inner(&mut self) -> Result<Condition, Stop> {
        if self.take("not") {
            return Ok(Condition::not(self.one()?));
        }
        if self.take("(") {
            let inner = self.any()?;
            return match self.peek() {
                Some(")") => {
                    self.at += 1;
                    Ok(inner)
                }
                Some(word) => self.stray(word),
                None => stop("a parenthesis is not closed"),
            };
        }
        let Some(word) = self.peek() else {
            return stop("the condition ends where a selection is expected");
        };
        if self.is(self.at + 1, "of") {
            return self.quantified(word);
        }
        if matches!(word, ")" | "|") || ["and", "or", "of"].contains(&&*word.to_ascii_lowercase()) {
            return stop(format!("a selection is expected and {word:?} stands here"));
        }
        self.at += 1;
        self.selections.get(word)
    }

    fn quantified(&mut self, count: &str) -> Result<Condition, Stop> {
        let every = match &*count.to_ascii_lowercase() {
            "1" | "any" => false,
            "all" => true,
            _ => {
                return stop(format!(
                    "\"{count} of\" is not supported; \"1 of\", \"any of\" and \"all of\" are"
                ));
            }
        };
        self.at += 2;
        let Some(pattern) = self.peek() else {
            return stop("\"of\" is followed by \"them\" or the name of selections");
        };
        self.at += 1;
        let them = pattern.eq_ignore_ascii_case("them");
        let names: Vec<String> = self
            .selections
            .names()
            .into_iter()
            // A name that begins so is for use by its own name alone.
            .filter(|name| !name.starts_with('_') || (!them && pattern.starts_with('_')))
            .filter(|name| them || matches(pattern, name))
            .map(str::to_owned)
            .collect();
        if names.is_empty() {
            return stop(format!("no selection has a name like {pattern:?}"));
        }
        let all: Vec<_> = names
            .iter()
            .map(|name| self.selections.get(name))
            .collect::<Result<_, _>>()?;
        Ok(if every {
            Condition::all(all)
        } else {
            Condition::any(all)
        })
    }
}

/// Whether a name is what a pattern says, in which `*` stands for any characters.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(last)
}
