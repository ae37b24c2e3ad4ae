//! The values of a field, as their modifiers say, to tests. What one value becomes by its modifiers
//! are alternatives, even where all values must match.

use super::detection::{Condition, MAX_PARTS};
use super::detection_parts::{How, Match, Operand};
use super::encode;
use super::mapping::Source;
use super::modifiers::{Chain, Op, Transform};
use super::pattern::{Pattern, Token};
use super::pcre;
use super::skipped::{Reason, Skipped};
use super::validate::network;
use super::yaml::{Node, Value};
use bailiwick_event::fields::{Field, FieldType};
use std::cell::Cell;

/// Where a value is looked for.
pub(super) struct Place<'r> {
    pub(super) source: &'static Source,
    /// None for keywords.
    pub(super) of: Option<Operand>,
    pub(super) chain: &'r Chain,
    pub(super) left: &'r Budget,
}

/// How many parts a rule may still become. Modifiers and names that are used again make much of a
/// little text, so that this is counted while it grows and not when it is done.
pub(super) struct Budget(Cell<usize>);

/// What a regular expression counts for: to compile one takes long.
const REGEX: usize = 64;

impl Budget {
    pub(super) fn new() -> Self {
        Self(Cell::new(MAX_PARTS))
    }

    pub(super) fn spend(&self, parts: usize) -> Result<(), Reason> {
        match self.0.get().checked_sub(parts) {
            Some(left) => {
                self.0.set(left);
                Ok(())
            }
            None => Err(Reason::Limit(format!(
                "the rule becomes more than {MAX_PARTS} parts (a regular expression counts for \
                 {REGEX}); make several rules of it"
            ))),
        }
    }
}

fn value_error<T>(why: impl Into<String>) -> Result<T, Reason> {
    Err(Reason::Value(why.into()))
}

impl Place<'_> {
    /// One value.
    pub(super) fn test(&self, node: &Node) -> Result<Condition, Skipped> {
        let found = match &self.of {
            Some(of) => self.field(of, &node.value),
            None => self.keyword(&node.value),
        };
        let found = found.and_then(|test| self.left.spend(test.parts()).map(|()| test));
        found.map_err(|reason| Skipped::new(node.at, reason))
    }

    fn field(&self, of: &Operand, value: &Value) -> Result<Condition, Reason> {
        let of = of.clone();
        let text = match (value, self.chain.op) {
            (Value::List(_) | Value::Map(_), _) => {
                return value_error("a value is a text, a number, true, false or null");
            }
            (Value::Bool(yes), Op::Exists) => {
                let there = Condition::Match(Match::Exists { of });
                return Ok(if *yes { there } else { Condition::not(there) });
            }
            (_, Op::Exists) => return value_error("\"exists\" takes true or false"),
            (Value::Null, Op::Text(How::Equals)) if self.chain.transforms.is_empty() => {
                return Ok(Condition::Match(Match::Null { of }));
            }
            (Value::Null, _) => return value_error("null goes with no modifier"),
            (Value::Text(text), _) => &**text,
            (Value::Bool(true), _) => "true",
            (Value::Bool(false), _) => "false",
        };
        if matches!(&of, Operand::Field(field) if field.info().ty == FieldType::Int) {
            return self.number(of, text);
        }
        match self.chain.op {
            Op::Text(how) => {
                if of == Operand::Field(Field::DnsType) && text.bytes().all(|b| b.is_ascii_digit())
                {
                    return value_error("record types are names such as TXT here, not numbers");
                }
                self.text(&of, how, text)
            }
            Op::Number(relation) => {
                let name = relation.name();
                value_error(format!(
                    "{name:?} compares numbers, and this field is a text"
                ))
            }
            Op::Regex(flags) => {
                self.left.spend(REGEX)?;
                pcre::compile(text, flags).map_err(Reason::Regex)?;
                let values = vec![text.to_owned()];
                Ok(Condition::Match(Match::Regex { of, values, flags }))
            }
            Op::Cidr => {
                let values = vec![network(text).map_err(Reason::Value)?];
                Ok(Condition::Match(Match::Cidr { of, values }))
            }
            Op::FieldRef(how) => self.reference(of, how, text),
            Op::Exists => value_error("\"exists\" takes true or false"),
        }
    }

    /// The test of a field that is a number.
    fn number(&self, of: Operand, text: &str) -> Result<Condition, Reason> {
        let relation = match self.chain.op {
            Op::Number(relation) => relation,
            Op::FieldRef(How::Equals) if !self.chain.cased => {
                return self.reference(of, How::Equals, text);
            }
            Op::Text(How::Equals) if self.chain.transforms.is_empty() => {
                super::detection_parts::Relation::Equal
            }
            _ => return value_error("this field is a number, which the modifiers do not fit"),
        };
        // One spelling only: 010 is eight to some readers and ten to others.
        match text.parse::<i64>() {
            Ok(number) if number.to_string() == text => {
                let values = vec![number];
                Ok(Condition::Match(Match::Number {
                    of,
                    relation,
                    values,
                }))
            }
            _ => value_error(format!(
                "this field is a number, and {text:?} is no whole number in decimal"
            )),
        }
    }

    fn reference(&self, of: Operand, how: How, name: &str) -> Result<Condition, Reason> {
        let Some(target) = self.source.field(name) else {
            return Err(Reason::Field {
                name: name.to_owned(),
                on: self.source.on.name(),
            });
        };
        let other = target.operand();
        let ty = |operand: &Operand| match operand {
            Operand::Field(field) => field.info().ty,
            Operand::Header(_) => FieldType::Text,
        };
        if ty(&of) != ty(&other) {
            return value_error(format!("a text and a number cannot be compared: {name:?}"));
        }
        Ok(Condition::Match(Match::FieldRef {
            of,
            other,
            how,
            case: self.chain.cased,
        }))
    }

    fn text(&self, of: &Operand, how: How, text: &str) -> Result<Condition, Reason> {
        let patterns = self.encoded(text)?;
        Ok(Condition::any(patterns.into_iter().map(|pattern| {
            let before = matches!(how, How::Contains | How::EndsWith);
            let after = matches!(how, How::Contains | How::StartsWith);
            let test = plain(of.clone(), pattern.open(before, after), self.chain.cased);
            let bare = bare(&test);
            Condition::any([test].into_iter().chain(bare).map(Condition::Match))
        })))
    }

    fn keyword(&self, value: &Value) -> Result<Condition, Reason> {
        let text = match value {
            Value::Text(text) => &**text,
            Value::Bool(true) => "true",
            Value::Bool(false) => "false",
            _ => return value_error("a keyword is a text"),
        };
        if !matches!(self.chain.op, Op::Text(How::Equals | How::Contains)) || self.chain.neq {
            let why = "keywords are looked for in every text, which this modifier does not fit";
            return Err(Reason::Modifier(why.to_owned()));
        }
        let values = self.encoded(text)?;
        if values
            .iter()
            .any(|value| value.tokens().iter().all(|token| *token == Token::Many))
        {
            return value_error("this keyword would be found in every event");
        }
        Ok(Condition::Match(Match::Keyword {
            values,
            case: self.chain.cased,
        }))
    }

    /// What a value becomes by the modifiers that change it.
    fn encoded(&self, text: &str) -> Result<Vec<Pattern>, Reason> {
        let mut all = vec![Form::Text(Pattern::read(text))];
        for transform in &self.chain.transforms {
            let mut next = Vec::with_capacity(all.len());
            for form in all {
                next.extend(form.transform(*transform)?);
            }
            all = next;
        }
        all.into_iter()
            .map(|form| match form {
                Form::Text(pattern) => Ok(pattern),
                Form::Bytes(_) => value_error("these bytes are no text"),
            })
            .collect()
    }
}

/// A value on its way through the modifiers.
enum Form {
    Text(Pattern),
    Bytes(Vec<u8>),
}

impl Form {
    fn transform(self, transform: Transform) -> Result<Vec<Self>, Reason> {
        let literal = |form: &Self| match form {
            Self::Text(pattern) => match pattern.as_literal() {
                Some(text) => Ok(text.to_owned()),
                None => value_error("a value with wildcards cannot be encoded"),
            },
            Self::Bytes(_) => value_error("a value cannot be made UTF-16 twice"),
        };
        Ok(match (transform, self) {
            (Transform::Windash, Self::Text(pattern)) => match encode::windash(&pattern) {
                Some(all) => all.into_iter().map(Self::Text).collect(),
                None => {
                    return value_error(format!(
                        "\"windash\" makes more than {} values of this one",
                        encode::MAX_DASHED
                    ));
                }
            },
            (Transform::Windash, Self::Bytes(_)) => return value_error("these bytes are no text"),
            (Transform::Utf16Le, form) => vec![Self::Bytes(encode::utf16le(&literal(&form)?))],
            (Transform::Utf16Be, form) => vec![Self::Bytes(encode::utf16be(&literal(&form)?))],
            (Transform::Utf16, form) => vec![Self::Bytes(encode::utf16(&literal(&form)?))],
            (Transform::Base64 | Transform::Base64Offset, form) => {
                let bytes = match form {
                    Self::Bytes(bytes) => bytes,
                    form => literal(&form)?.into_bytes(),
                };
                let texts = if transform == Transform::Base64 {
                    Some(vec![encode::base64(&bytes)])
                } else {
                    encode::base64_shifts(&bytes)
                };
                let Some(texts) = texts else {
                    return value_error("this value is too short to be found at every offset");
                };
                texts
                    .into_iter()
                    .map(|text| Self::Text(Pattern::literal(text)))
                    .collect()
            }
        })
    }
}

/// The program by its name alone, for a test of the path of a program: Sigma's is always whole, and
/// a command names what lies on PATH without its folder.
fn bare(test: &Match) -> Option<Match> {
    let Match::Text {
        of: of @ Operand::Field(Field::ExecExecutable),
        how: How::Equals | How::EndsWith,
        values,
        case,
    } = test
    else {
        return None;
    };
    let (_, name) = values.first()?.rsplit_once('/')?;
    (!name.is_empty()).then(|| Match::Text {
        of: of.clone(),
        how: How::Equals,
        values: vec![name.to_owned()],
        case: *case,
    })
}

/// The plainest test that says what a pattern says.
fn plain(of: Operand, pattern: Pattern, case: bool) -> Match {
    let (how, text) = match pattern.tokens() {
        [] => (How::Equals, ""),
        [Token::Many] => return Match::Exists { of },
        [Token::Text(text)] => (How::Equals, &**text),
        [Token::Text(text), Token::Many] => (How::StartsWith, &**text),
        [Token::Many, Token::Text(text)] => (How::EndsWith, &**text),
        [Token::Many, Token::Text(text), Token::Many] => (How::Contains, &**text),
        _ => {
            let values = vec![pattern];
            return Match::Wildcard { of, values, case };
        }
    };
    let values = vec![text.to_owned()];
    Match::Text {
        of,
        how,
        values,
        case,
    }
}
