//! The tests of a detection as JSON: the reader's counterpart.

use super::detection_parts::{Match, Operand};
use super::pattern::{Pattern, Token};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// What stands for a wildcard, so that no text can be taken for one.
#[derive(serde::Serialize)]
struct Wild {
    wild: &'static str,
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if let Some(text) = self.as_literal() {
            return to.serialize_str(text);
        }
        let mut seq = to.serialize_seq(Some(self.tokens().len()))?;
        for token in self.tokens() {
            match token {
                Token::Text(text) => seq.serialize_element(text)?,
                Token::Many => seq.serialize_element(&Wild { wild: "*" })?,
                Token::One => seq.serialize_element(&Wild { wild: "?" })?,
            }
        }
        seq.end()
    }
}

/// The key and the name of what is tested.
fn named(operand: &Operand) -> (&'static str, &str) {
    match operand {
        Operand::Field(field) => ("field", field.info().path),
        Operand::Header(name) => ("header", name),
    }
}

impl Serialize for Operand {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (key, name) = named(self);
        let mut map = to.serialize_map(Some(1))?;
        map.serialize_entry(key, name)?;
        map.end()
    }
}

fn values<M: SerializeMap, T: Serialize>(map: &mut M, values: &[T]) -> Result<(), M::Error> {
    match values {
        [one] => map.serialize_entry("value", one),
        all => map.serialize_entry("values", all),
    }
}

impl Serialize for Match {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        if let Some((key, name)) = self.operand().map(named) {
            map.serialize_entry(key, name)?;
        }
        let op = match self {
            Self::Text { how, .. } => how.name(),
            Self::Number { relation, .. } => relation.name(),
            Self::Wildcard { .. } => "wildcard",
            Self::Regex { .. } => "re",
            Self::Cidr { .. } => "cidr",
            Self::Exists { .. } => "exists",
            Self::Null { .. } => "null",
            Self::FieldRef { .. } => "fieldref",
            Self::Keyword { .. } => "keyword",
        };
        map.serialize_entry("op", op)?;
        match self {
            Self::Text { values: all, .. } | Self::Cidr { values: all, .. } => {
                values(&mut map, all)?;
            }
            Self::Number { values: all, .. } => values(&mut map, all)?,
            Self::Wildcard { values: all, .. } | Self::Keyword { values: all, .. } => {
                values(&mut map, all)?;
            }
            Self::Regex {
                values: all, flags, ..
            } => {
                values(&mut map, all)?;
                if !flags.letters().is_empty() {
                    map.serialize_entry("flags", flags.letters())?;
                }
            }
            Self::Exists { .. } | Self::Null { .. } => {}
            Self::FieldRef { other, how, .. } => {
                map.serialize_entry("ref", other)?;
                map.serialize_entry("as", how.name())?;
            }
        }
        if let Self::Text { case: true, .. }
        | Self::Wildcard { case: true, .. }
        | Self::Keyword { case: true, .. }
        | Self::FieldRef { case: true, .. } = self
        {
            map.serialize_entry("case", &true)?;
        }
        map.end()
    }
}
