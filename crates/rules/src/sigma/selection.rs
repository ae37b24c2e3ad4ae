//! A selection to a condition: a map is all of its fields, a list is any of its elements, and what
//! stands in a list without a field is a keyword.

use super::detection::Condition;
use super::detection_parts::{Match, Operand};
use super::mapping::Source;
use super::modifiers::{self, Chain};
use super::skipped::{Reason, Skipped};
use super::values::{Budget, Place};
use super::yaml::{At, Key, Node, Value};

/// What the fields of a selection are looked up in, and what is left to it.
#[derive(Clone, Copy)]
pub(super) struct From<'r> {
    pub(super) source: &'static Source,
    pub(super) left: &'r Budget,
}

pub(super) fn convert(from: From<'_>, node: &Node) -> Result<Condition, Skipped> {
    match &node.value {
        Value::Map(pairs) => map(from, node.at, pairs),
        Value::List(list) if list.is_empty() => empty(node.at),
        Value::List(list) => {
            let each = |node: &Node| match &node.value {
                Value::Map(pairs) => map(from, node.at, pairs),
                Value::List(_) => {
                    let why = "a list in a list has no meaning in a selection".to_owned();
                    Err(Skipped::new(node.at, Reason::Selection(why)))
                }
                _ => keyword(from, node),
            };
            let all: Vec<_> = list.iter().map(each).collect::<Result<_, _>>()?;
            Ok(Condition::any(all))
        }
        Value::Null => empty(node.at),
        Value::Text(_) | Value::Bool(_) => keyword(from, node),
    }
}

fn empty<T>(at: At) -> Result<T, Skipped> {
    let why = "this selection is empty".to_owned();
    Err(Skipped::new(at, Reason::Selection(why)))
}

fn keyword(from: From<'_>, node: &Node) -> Result<Condition, Skipped> {
    let chain = chain(node.at, std::iter::empty())?;
    let place = Place {
        source: from.source,
        left: from.left,
        of: None,
        chain: &chain,
    };
    place.test(node)
}

fn chain<'s>(at: At, words: impl Iterator<Item = &'s str>) -> Result<Chain, Skipped> {
    modifiers::read(words).map_err(|reason| Skipped::new(at, reason))
}

fn map(from: From<'_>, at: At, pairs: &[(Key, Node)]) -> Result<Condition, Skipped> {
    if pairs.is_empty() {
        return empty(at);
    }
    let each = |(key, value): &(Key, Node)| item(from, key, value);
    let all: Vec<_> = pairs.iter().map(each).collect::<Result<_, _>>()?;
    Ok(Condition::all(all))
}

/// A field with its modifiers and values.
fn item(from: From<'_>, key: &Key, value: &Node) -> Result<Condition, Skipped> {
    let mut words = key.name.split('|');
    let name = words.next().unwrap_or_default();
    let chain = chain(key.at, words)?;
    let of = match (name, from.source.field(name)) {
        ("", _) => None,
        (_, Some(target)) => Some(target.operand()),
        (name, None) => {
            let reason = Reason::Field {
                name: name.to_owned(),
                on: from.source.on.name(),
            };
            return Err(Skipped::new(key.at, reason));
        }
    };
    let place = Place {
        source: from.source,
        left: from.left,
        of,
        chain: &chain,
    };
    let values = match &value.value {
        Value::List(list) if list.is_empty() => return empty(value.at),
        Value::List(list) => list.as_slice(),
        _ => std::slice::from_ref(value),
    };
    let tests: Vec<_> = values
        .iter()
        .map(|one| place.test(one))
        .collect::<Result<_, _>>()?;
    let condition = if chain.all {
        Condition::all(tests)
    } else {
        Condition::any(tests)
    };
    match place.of {
        Some(of) if chain.neq => Ok(differs(of, condition)),
        _ => Ok(condition),
    }
}

/// A value that differs is one that is there: nothing is said about an event that has none.
fn differs(of: Operand, same: Condition) -> Condition {
    let different = Condition::not(same);
    let always = matches!(&of, Operand::Field(field) if field.info().always);
    if always {
        return different;
    }
    Condition::all([Condition::Match(Match::Exists { of }), different])
}
