//! JSON for a person or another program. What it holds was chosen by strangers, and a terminal, an
//! editor and a pager obey characters that the standard lets stand raw in a string.
//!
//! Decision: one writer for all JSON that leaves the product. It escapes whatever is not
//! [`harmless`]; any reader turns that back into the same string. What is hashed or read by the
//! product alone (the journal, packets) is not written by it.

use crate::text::harmless;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use serde_json::{Result, Serializer, Value};
use std::io::{self, Write};

/// A value on one line, without a line end.
///
/// # Errors
/// The value is none of JSON: a map whose keys are not strings.
pub fn line(value: &impl Serialize) -> Result<String> {
    written(value, CompactFormatter)
}

/// A value on lines that are indented, without a line end after the last.
///
/// # Errors
/// As those of [`line`].
pub fn lines(value: &impl Serialize) -> Result<String> {
    written(value, PrettyFormatter::new())
}

/// A value that is JSON already, on one line.
#[must_use]
pub fn of(value: &Value) -> String {
    // Its keys are strings, and nothing else can fail.
    line(value).unwrap_or_default()
}

fn written(value: &impl Serialize, layout: impl Formatter) -> Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(
        &mut bytes,
        Harmless(layout),
    ))?;
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

/// A layout whose strings hold nothing that is obeyed or hidden.
struct Harmless<F>(F);

/// Passes the parts of a layout on.
macro_rules! of_layout {
    ($($part:ident($($argument:ident: $kind:ty),*);)*) => {
        $(fn $part<W: ?Sized + Write>(&mut self, to: &mut W $(, $argument: $kind)*) -> io::Result<()> {
            self.0.$part(to $(, $argument)*)
        })*
    };
}

impl<F: Formatter> Formatter for Harmless<F> {
    /// A part of a string in which the standard has nothing to escape.
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| !harmless(*c)) {
            to.write_all(&rest.as_bytes()[..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(to, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        to.write_all(rest.as_bytes())
    }

    of_layout! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
