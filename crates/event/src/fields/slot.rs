//! A field's value where it lies. A missing value is a value of its own here, so that no rule can
//! take it for an empty one.

use super::Headers;
use std::borrow::Cow;

/// What kind of value a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// A string.
    Text,
    /// A signed 64-bit number.
    Int,
    /// A 64-bit floating-point number.
    Double,
    /// True or false.
    Bool,
    /// A point in time.
    Time,
    /// A list of strings.
    Texts,
    /// A map from strings to strings.
    Pairs,
    /// A map from lower-case header names to lists of values.
    Headers,
    /// Whatever the program sent, as JSON.
    Tree,
}

impl FieldType {
    /// The type as the Common Expression Language spells it.
    #[must_use]
    pub fn cel(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Int => "int",
            Self::Double => "double",
            Self::Bool => "bool",
            Self::Time => "timestamp",
            Self::Texts => "list(string)",
            Self::Pairs => "map(string, string)",
            Self::Headers => "map(string, list(string))",
            Self::Tree => "dyn",
        }
    }
}

/// A field's value, borrowed from the event.
#[derive(Clone, Copy, Debug)]
pub enum Slot<'a> {
    /// The event has no such value.
    Absent,
    /// A string.
    Text(&'a str),
    /// A number.
    Int(i64),
    /// A floating-point number.
    Double(f64),
    /// True or false.
    Bool(bool),
    /// Nanoseconds since the Unix epoch.
    Time(i64),
    /// Strings.
    Texts(&'a [Cow<'a, str>]),
    /// Names and values.
    Pairs(&'a [(Cow<'a, str>, Cow<'a, str>)]),
    /// Headers.
    Headers(&'a Headers<'a>),
    /// JSON.
    Tree(&'a serde_json::Value),
}

impl Slot<'_> {
    /// Whether the event has the value.
    #[must_use]
    pub fn is_present(&self) -> bool {
        !matches!(self, Self::Absent)
    }
}

/// A value that lies in a family's struct.
pub(crate) trait InPlace {
    /// Where it lies.
    fn slot(&self) -> Slot<'_>;
}

macro_rules! in_place {
    ($($of:ty => |$value:ident| $slot:expr;)*) => {$(
        impl InPlace for Option<$of> {
            #[inline]
            fn slot(&self) -> Slot<'_> {
                match self {
                    Some($value) => $slot,
                    None => Slot::Absent,
                }
            }
        }
    )*};
}

in_place! {
    Cow<'_, str> => |text| Slot::Text(text);
    i64 => |number| Slot::Int(*number);
    f64 => |number| Slot::Double(*number);
    bool => |yes| Slot::Bool(*yes);
    super::table::Time => |time| Slot::Time(time.0);
    Vec<Cow<'_, str>> => |texts| Slot::Texts(texts);
    Vec<(Cow<'_, str>, Cow<'_, str>)> => |pairs| Slot::Pairs(pairs);
    Headers<'_> => |headers| Slot::Headers(headers);
    serde_json::Value => |tree| Slot::Tree(tree);
}
