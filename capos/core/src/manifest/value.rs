//! Values of the manifest's tree: what a configuration language leaves of a document.
//!
//! Decision: a record's fields are read once, into a short list from which they are taken; what is
//! left at the end was not known. A tree that points into itself is thereby walked no further than
//! what is looked for, and the message's budget ends the rest.

use super::wrong::short;
use super::{Invalid, Wrong};
use crate::message::Struct;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Fields that a record may have: more than any has that is known.
const FIELDS: usize = 16;

/// Data words and pointers of the schema's structs.
pub(super) mod shape {
    pub(crate) const MANIFEST: (u16, u16) = (1, 4);
    pub(crate) const BINARY: (u16, u16) = (0, 2);
    pub(crate) const VALUE: (u16, u16) = (2, 1);
    pub(crate) const FIELD: (u16, u16) = (0, 2);
}

/// The kinds of a value, by its discriminant.
pub(super) mod kind {
    pub(crate) const UINT: u16 = 3;
    pub(crate) const TEXT: u16 = 4;
    pub(crate) const LIST: u16 = 6;
    pub(crate) const RECORD: u16 = 7;
    pub(crate) const NAMES: [&str; 8] = [
        "null",
        "a boolean",
        "a signed number",
        "a number",
        "a text",
        "bytes",
        "a list",
        "a record",
    ];
}

/// Where the discriminant of a value is, in bytes, and where its number is.
pub(super) const DISCRIMINANT: usize = 0;
pub(super) const NUMBER: usize = 8;

/// A value and its place.
pub(super) struct Value<'m, 'a> {
    pub(super) at: Struct<'m, 'a>,
    pub(super) place: String,
}

/// A record's fields that were not taken yet.
pub(super) struct Record<'m, 'a> {
    pub(super) place: String,
    fields: Vec<(&'a str, Struct<'m, 'a>)>,
}

impl<'m, 'a> Value<'m, 'a> {
    fn expect(&self, expected: u16) -> Result<(), Invalid> {
        let found = self.at.u16(DISCRIMINANT);
        if found == expected {
            return Ok(());
        }
        let name = |kind: u16| {
            kind::NAMES
                .get(usize::from(kind))
                .copied()
                .unwrap_or("unknown")
        };
        Err(Wrong::Kind {
            expected: name(expected),
            found: name(found),
        }
        .at(&*self.place))
    }

    pub(super) fn text(&self) -> Result<&'a str, Invalid> {
        self.expect(kind::TEXT)?;
        self.at
            .text(0)
            .map_err(|error| Wrong::Message(error).at(&*self.place))
    }

    pub(super) fn number(&self) -> Result<u64, Invalid> {
        self.expect(kind::UINT)?;
        Ok(self.at.u64(NUMBER))
    }

    /// Each value of a list that may have `limit`, read by `each`.
    pub(super) fn list<T>(
        &self,
        limit: usize,
        each: impl Fn(Value<'m, 'a>) -> Result<T, Invalid>,
    ) -> Result<Vec<T>, Invalid> {
        self.expect(kind::LIST)?;
        let list = self
            .at
            .list(0)
            .map_err(|error| Wrong::Message(error).at(&*self.place))?;
        let count = list.len();
        if count > limit {
            return Err(Wrong::TooMany { count, limit }.at(&*self.place));
        }
        let place = |number| format!("{}[{number}]", self.place);
        list.iter()
            .enumerate()
            .map(|(number, at)| {
                each(Value {
                    at,
                    place: place(number),
                })
            })
            .collect()
    }

    pub(super) fn record(self) -> Result<Record<'m, 'a>, Invalid> {
        self.expect(kind::RECORD)?;
        let place = self.place;
        let wrong = |error| Wrong::Message(error).at(&*place);
        let list = self.at.list(0).map_err(wrong)?;
        let (count, limit) = (list.len(), FIELDS);
        if count > limit {
            return Err(Wrong::TooMany { count, limit }.at(place));
        }
        let mut fields: Vec<(&'a str, Struct<'m, 'a>)> = Vec::with_capacity(count);
        for field in list.iter() {
            let name = field.text(0).map_err(wrong)?;
            if fields.iter().any(|(other, _)| *other == name) {
                return Err(Wrong::FieldTwice(short(name)).at(place));
            }
            fields.push((name, field.child(1).map_err(wrong)?));
        }
        Ok(Record { place, fields })
    }
}

impl<'m, 'a> Record<'m, 'a> {
    /// Takes a field, if it is there.
    pub(super) fn take(&mut self, name: &'static str) -> Option<Value<'m, 'a>> {
        let index = self.fields.iter().position(|(field, _)| *field == name)?;
        let (_, at) = self.fields.swap_remove(index);
        let dot = if self.place.is_empty() { "" } else { "." };
        Some(Value {
            at,
            place: format!("{}{dot}{name}", self.place),
        })
    }

    /// Takes a field that has to be there.
    pub(super) fn need(&mut self, name: &'static str) -> Result<Value<'m, 'a>, Invalid> {
        self.take(name)
            .ok_or_else(|| Wrong::Missing(name).at(&*self.place))
    }

    /// Refuses what was not taken.
    pub(super) fn end(self) -> Result<(), Invalid> {
        match self.fields.first() {
            Some((name, _)) => Err(Wrong::Unknown(short(name)).at(self.place)),
            None => Ok(()),
        }
    }
}
