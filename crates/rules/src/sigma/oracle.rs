//! What a detection says about an event, by the words of the specification and nothing of the
//! code under test; and beside it what the printed condition says. Tests ask both at once.

use super::oracle_cel::evaluate;
use super::{Condition, Detection, How, Match, Operand, Pattern, Relation, Skipped, Token, read};
use crate::expr;
use std::collections::HashMap;
use std::net::IpAddr;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Val {
    Text(String),
    Int(i64),
}

impl From<&str> for Val {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
impl From<i64> for Val {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

/// An event: values by the names of fields, and of headers as `header:name`.
pub(super) type Event = HashMap<String, Val>;

pub(super) fn event<const N: usize>(pairs: [(&str, Val); N]) -> Event {
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}

/// An event of a program that was started.
pub(super) fn command(text: &str) -> Event {
    event([
        ("process.exec.executable", "/usr/bin/x".into()),
        ("process.exec.command", text.into()),
    ])
}

pub(super) fn rule(category: &str, detection: &str) -> String {
    let indented: String = detection
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect();
    format!("title: T\nlogsource:\n  category: {category}\ndetection:\n{indented}")
}

pub(super) fn carry(category: &str, detection: &str) -> Result<Detection, Skipped> {
    let mut all = read(&rule(category, detection));
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// The detection of one selection of a program that is started.
pub(super) fn process(selection: &str) -> Detection {
    let indented: String = selection
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect();
    let detection = format!("sel:\n{indented}condition: sel");
    carry("process_creation", &detection).unwrap_or_else(|e| panic!("{selection}: {e}"))
}

/// Whether the detection matches, which its condition must say as well, and without an error.
pub(super) fn hits(detection: &Detection, event: &Event) -> bool {
    let cel = detection.to_cel();
    let ast = expr::parse(&cel).unwrap_or_else(|e| panic!("{cel}: {e}"));
    let by_words = says(&detection.condition, event);
    let by_cel = evaluate(&ast, event).unwrap_or_else(|e| panic!("{cel}: {e} in {event:?}"));
    assert_eq!(by_words, by_cel, "{cel} for {event:?}");
    by_words
}

fn says(condition: &Condition, event: &Event) -> bool {
    match condition {
        Condition::All(all) => all.iter().all(|one| says(one, event)),
        Condition::Any(all) => all.iter().any(|one| says(one, event)),
        Condition::Not(of) => !says(of, event),
        Condition::Match(test) => holds(test, event),
    }
}

fn value<'e>(of: &Operand, event: &'e Event) -> Option<&'e Val> {
    match of {
        Operand::Field(field) => event.get(field.info().path),
        Operand::Header(name) => event.get(&format!("header:{name}")),
    }
}

fn text<'e>(of: &Operand, event: &'e Event) -> Option<&'e str> {
    match value(of, event)? {
        Val::Text(text) => Some(text),
        Val::Int(_) => panic!("a number where a text is tested"),
    }
}

fn fold(text: &str, case: bool) -> String {
    if case {
        text.to_owned()
    } else {
        text.to_lowercase()
    }
}

fn compare(how: How, field: &str, value: &str, case: bool) -> bool {
    let (field, value) = (fold(field, case), fold(value, case));
    match how {
        How::Equals => field == value,
        How::Contains => field.contains(&value),
        How::StartsWith => field.starts_with(&value),
        How::EndsWith => field.ends_with(&value),
    }
}

fn holds(test: &Match, event: &Event) -> bool {
    match test {
        Match::Text {
            of,
            how,
            values,
            case,
        } => text(of, event).is_some_and(|field| {
            values
                .iter()
                .any(|value| compare(*how, field, value, *case))
        }),
        Match::Number {
            of,
            relation,
            values,
        } => match value(of, event) {
            Some(Val::Int(number)) => values.iter().any(|value| match relation {
                Relation::Equal => number == value,
                Relation::Less => number < value,
                Relation::LessEqual => number <= value,
                Relation::Greater => number > value,
                Relation::GreaterEqual => number >= value,
            }),
            _ => false,
        },
        Match::Wildcard { of, values, case } => text(of, event)
            .is_some_and(|field| values.iter().any(|value| fits(value, field, *case))),
        Match::Regex { of, values, flags } => text(of, event).is_some_and(|field| {
            values.iter().any(|value| {
                let mut regex = regex::RegexBuilder::new(value);
                regex
                    .case_insensitive(flags.ignore_case)
                    .multi_line(flags.lines);
                let regex = regex.dot_matches_new_line(flags.dot_all).build();
                regex.unwrap().is_match(field)
            })
        }),
        Match::Cidr { of, values } => {
            text(of, event).is_some_and(|field| values.iter().any(|value| within(value, field)))
        }
        Match::Exists { of } => value(of, event).is_some(),
        Match::Null { of } => value(of, event).is_none(),
        Match::FieldRef {
            of,
            other,
            how,
            case,
        } => match (value(of, event), value(other, event)) {
            (Some(Val::Text(a)), Some(Val::Text(b))) => compare(*how, a, b, *case),
            (Some(a), Some(b)) => a == b,
            _ => false,
        },
        Match::Keyword { values, case } => event.iter().any(|(name, field)| match field {
            Val::Text(field) if !name.starts_with("common.") && !name.starts_with("header:") => {
                values
                    .iter()
                    .any(|value| fits(&around(value), field, *case))
            }
            _ => false,
        }),
    }
}

fn around(pattern: &Pattern) -> Pattern {
    let mut tokens = vec![Token::Many];
    tokens.extend(pattern.tokens().iter().cloned());
    tokens.push(Token::Many);
    Pattern::new(tokens)
}

fn fits(pattern: &Pattern, text: &str, case: bool) -> bool {
    fn rest(tokens: &[Token], text: &str, case: bool) -> bool {
        match tokens {
            [] => text.is_empty(),
            [Token::Text(literal), more @ ..] => text
                .strip_prefix(&*fold(literal, case))
                .is_some_and(|text| rest(more, text, case)),
            [Token::One, more @ ..] => {
                let mut chars = text.chars();
                chars.next().is_some() && rest(more, chars.as_str(), case)
            }
            [Token::Many, more @ ..] => text
                .char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .any(|at| rest(more, &text[at..], case)),
        }
    }
    rest(pattern.tokens(), &fold(text, case), case)
}

pub(super) fn within(network: &str, address: &str) -> bool {
    let (base, length) = network.split_once('/').unwrap();
    let bits = |text: &str| match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(v4)) => Some((4, u128::from(v4.to_bits()), 32)),
        Ok(IpAddr::V6(v6)) => Some((6, v6.to_bits(), 128)),
        Err(_) => None,
    };
    let (Some((kind, base, width)), Some((other, address, _))) = (bits(base), bits(address)) else {
        return false;
    };
    let shift = width - length.parse::<u32>().unwrap();
    let part = |bits: u128| bits.checked_shr(shift).unwrap_or(0);
    kind == other && part(base) == part(address)
}
