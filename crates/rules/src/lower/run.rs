//! The tests, made on an event where it lies.

use super::case::{contains_folded, ends_with_folded, same, starts_with_folded};
use super::needle::SHORT;
use super::outcome::Outcome;
use super::program::Program;
use super::test::{OfText, Place, Test, TextTest};
use crate::eval::network::{covers, ip};
use crate::eval::{LOOKED_AT, Steps, secrets};
use crate::expr::{MacroKind, NodeId};
use bailiwick_event::fields::{Field, Slot, Subject, entropy};
use serde_json::Value as Json;
use std::borrow::Cow;

/// Bytes of a text, and elements of a list, up to which what is asked of them counts no steps: a
/// set of rules asks no more of them than it is long itself.
const FREE_BYTES: usize = 4096;
const FREE_ELEMENTS: usize = 64;

/// What the tests are made on.
pub(super) struct Run<'r> {
    pub(super) subject: &'r Subject<'r>,
    /// What may still be spent on the event.
    pub(super) steps: &'r Steps,
    /// The condition, for the parts that are left to the evaluator.
    pub(super) program: &'r Program,
}

impl<'r> Run<'r> {
    /// What a test says. The tests that rules mostly are stand here, so that this stays small.
    #[inline]
    pub(super) fn test(&self, test: &Test, element: Option<&str>) -> Outcome {
        match test {
            Test::Text(of) => self.text(of, element),
            Test::Int(field, compare, than) => match self.subject.get(*field) {
                Slot::Int(n) => compare.fits(n.cmp(than)).into(),
                _ => Outcome::Failed,
            },
            Test::HasHeader(field, name) => match self.subject.get(*field) {
                Slot::Headers(headers) if !self.goes_over(headers.0.len()) => Outcome::Failed,
                Slot::Headers(headers) => headers.has(name).into(),
                // Whether it was sent is not known where none was seen.
                _ => Outcome::Failed,
            },
            other => self.compound(other, element),
        }
    }

    #[inline(never)]
    fn compound(&self, test: &Test, element: Option<&str>) -> Outcome {
        match test {
            Test::All(all) => junction(all.iter().map(|t| self.test(t, element)), Outcome::False),
            Test::Any(all) => junction(all.iter().map(|t| self.test(t, element)), Outcome::True),
            Test::Not(of) => !self.test(of, element),
            other => self.rare(other, element),
        }
    }

    #[inline(never)]
    fn rare(&self, test: &Test, element: Option<&str>) -> Outcome {
        match test {
            Test::Constant(yes) => (*yes).into(),
            Test::If(parts) => match self.test(&parts[0], element) {
                Outcome::True => self.test(&parts[1], element),
                Outcome::False => self.test(&parts[2], element),
                Outcome::Failed => Outcome::Failed,
            },
            Test::Has(field) => self.subject.get(*field).is_present().into(),
            Test::HasJson(field, keys) => {
                let Some((last, way)) = keys.split_last() else {
                    return Outcome::Failed;
                };
                match self.json(*field, way) {
                    Some(Json::Object(map)) => map.contains_key(&**last).into(),
                    _ => Outcome::Failed,
                }
            }
            Test::Truth(field) => match self.subject.get(*field) {
                Slot::Bool(yes) => yes.into(),
                _ => Outcome::Failed,
            },
            Test::IntIn(field, all) => match self.subject.get(*field) {
                Slot::Int(n) => all.contains(&n).into(),
                _ => Outcome::Failed,
            },
            Test::Double(field, compare, than) => match self.subject.get(*field) {
                Slot::Double(n) => n.partial_cmp(than).is_some_and(|o| compare.fits(o)).into(),
                _ => Outcome::Failed,
            },
            Test::Count(field, compare, than) => match self.subject.get(*field) {
                Slot::Texts(all) => compare.fits((all.len() as i64).cmp(than)).into(),
                _ => Outcome::Failed,
            },
            Test::HasText(field, text) => match self.subject.get(*field) {
                Slot::Texts(all) if !self.goes_over(all.len()) => Outcome::Failed,
                Slot::Texts(all) => all.iter().any(|element| element == &**text).into(),
                _ => Outcome::Failed,
            },
            Test::Over(field, kind, body) => match self.subject.get(*field) {
                Slot::Texts(all) => self.over(all, *kind, body),
                _ => Outcome::Failed,
            },
            Test::General(id) => self.general(*id),
            // These are not rare.
            Test::Text(_)
            | Test::Int(..)
            | Test::HasHeader(..)
            | Test::All(_)
            | Test::Any(_)
            | Test::Not(_) => self.test(test, element),
        }
    }

    /// Whether there are the steps to go over so many elements.
    #[inline]
    fn goes_over(&self, elements: usize) -> bool {
        elements <= FREE_ELEMENTS || self.steps.take(elements)
    }

    fn general(&self, id: NodeId) -> Outcome {
        let evaluator = self.program.evaluator(self.subject).within(self.steps);
        let outcome = match evaluator.truth(id) {
            Ok(yes) => yes.into(),
            Err(_) => Outcome::Failed,
        };
        evaluator.take_from(self.steps);
        outcome
    }

    fn over(&self, all: &[Cow<'_, str>], kind: MacroKind, body: &Test) -> Outcome {
        let each = || 1 + body.cost() as usize / 64;
        if all.len() > FREE_ELEMENTS && !self.steps.take(all.len().saturating_mul(each())) {
            return Outcome::Failed;
        }
        let mut each = all.iter().map(|element| self.test(body, Some(element)));
        match kind {
            MacroKind::All => junction(each, Outcome::False),
            MacroKind::Exists => junction(each, Outcome::True),
            _ => {
                let mut count = 0;
                for outcome in &mut each {
                    match outcome {
                        Outcome::Failed => return Outcome::Failed,
                        Outcome::True => count += 1,
                        Outcome::False => {}
                    }
                }
                (count == 1).into()
            }
        }
    }

    fn json(&self, field: Field, keys: &[Box<str>]) -> Option<&'r Json> {
        let Slot::Tree(mut at) = self.subject.get(field) else {
            return None;
        };
        for key in keys {
            let Json::Object(map) = at else { return None };
            at = map.get(&**key)?;
        }
        Some(at)
    }

    #[inline]
    fn text(&self, of: &OfText, element: Option<&str>) -> Outcome {
        match &of.place {
            Place::Field(field) => match self.subject.get(*field) {
                Slot::Text(text) => ask(of, text, self.steps),
                _ => Outcome::Failed,
            },
            _ => self.text_elsewhere(of, element),
        }
    }

    #[inline(never)]
    fn text_elsewhere(&self, of: &OfText, element: Option<&str>) -> Outcome {
        match &of.place {
            Place::Field(_) => Outcome::Failed,
            Place::Header(field, name) => match self.subject.get(*field) {
                Slot::Headers(headers) if !self.goes_over(headers.0.len()) => Outcome::Failed,
                Slot::Headers(headers) => match headers.find(name) {
                    Some(value) => ask(of, &value, self.steps),
                    None => Outcome::Failed,
                },
                _ => Outcome::Failed,
            },
            Place::Element => element.map_or(Outcome::Failed, |text| ask(of, text, self.steps)),
            Place::Json(field, keys) => match (self.json(*field, keys), &of.test) {
                (Some(Json::String(text)), _) => ask(of, text, self.steps),
                // A value of another type is not equal to a text; what else is asked of it fails.
                (Some(_), TextTest::Equals(_) | TextTest::In(_)) if !of.folded => Outcome::False,
                _ => Outcome::Failed,
            },
        }
    }
}

/// What a test says of a text. The tests that rules mostly are stand here.
#[inline]
fn ask(of: &OfText, text: &str, left: &Steps) -> Outcome {
    match (&of.test, of.folded) {
        (TextTest::Contains(needle), false) if text.len() <= SHORT => {
            needle.is_in_short(text).into()
        }
        (TextTest::Equals(other), false) => (text == &**other).into(),
        (TextTest::StartsWith(other), false) => text.starts_with(&**other).into(),
        _ => ask_more(of, text, left),
    }
}

#[inline(never)]
#[allow(
    clippy::cast_possible_wrap,
    reason = "a text has fewer than 2^63 characters"
)]
fn ask_more(of: &OfText, text: &str, left: &Steps) -> Outcome {
    let cost = steps(of, text);
    if cost > 0 && !left.take(cost) {
        return Outcome::Failed;
    }
    let folded = of.folded;
    let yes = match &of.test {
        TextTest::Equals(other) if folded => same(text.as_bytes(), other),
        TextTest::Equals(other) => text == &**other,
        TextTest::In(all) if folded => all.iter().any(|other| same(text.as_bytes(), other)),
        TextTest::In(all) if all.len() <= 8 => all.iter().any(|other| text == &**other),
        TextTest::In(all) => all.binary_search_by(|other| (**other).cmp(text)).is_ok(),
        TextTest::Contains(needle) if folded => contains_folded(text, needle.as_str()),
        TextTest::Contains(needle) => needle.is_in(text),
        TextTest::StartsWith(other) if folded => starts_with_folded(text, other),
        TextTest::StartsWith(other) => text.starts_with(&**other),
        TextTest::EndsWith(other) if folded => ends_with_folded(text, other),
        TextTest::EndsWith(other) => text.ends_with(&**other),
        TextTest::Matches(pattern) => match pattern.is_match(text, |steps| left.take(steps)) {
            Some(yes) => yes,
            None => return Outcome::Failed,
        },
        TextTest::Domain(domain) => covers(domain.as_str(), text),
        TextTest::IsIp => ip(text).is_ok(),
        TextTest::InNetwork(network) => match ip(text) {
            Ok(address) => network.contains(address),
            Err(_) => return Outcome::Failed,
        },
        TextTest::HasSecrets if folded => secrets::any(&text.to_ascii_lowercase()),
        TextTest::HasSecrets => secrets::any(text),
        TextTest::Length(compare, than) => compare.fits((text.chars().count() as i64).cmp(than)),
        TextTest::Entropy(compare, than) => {
            let value = match folded {
                true => entropy(&text.to_ascii_lowercase()),
                false => entropy(text),
            };
            value
                .partial_cmp(than)
                .is_some_and(|order| compare.fits(order))
        }
    };
    yes.into()
}

/// What it costs to look through a text, in steps; a pattern counts its own.
fn steps(of: &OfText, text: &str) -> usize {
    match &of.test {
        TextTest::Equals(_) | TextTest::StartsWith(_) | TextTest::EndsWith(_) => 0,
        TextTest::Matches(_) => 0,
        TextTest::HasSecrets | TextTest::Entropy(..) => 1 + text.len() / LOOKED_AT,
        TextTest::Contains(_) if of.folded => 1 + text.len() / 64,
        _ if text.len() <= FREE_BYTES => 0,
        TextTest::Contains(_) => text.len() / 1024,
        _ => text.len() / 64,
    }
}

/// What settles the matter settles it, whatever else failed.
#[inline]
pub(super) fn junction(parts: impl Iterator<Item = Outcome>, settles: Outcome) -> Outcome {
    let mut failed = false;
    for part in parts {
        if part == settles {
            return settles;
        }
        failed |= part == Outcome::Failed;
    }
    if failed { Outcome::Failed } else { !settles }
}
