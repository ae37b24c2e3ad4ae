//! The types of the language, as far as they are known before an event is there.

use bailiwick_event::fields::FieldType;
use std::fmt;
use std::rc::Rc;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the types of the language")]
pub enum Ty {
    /// Known only when the event is there.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Time,
    Duration,
    Type,
    Ip,
    Cidr,
    List(Rc<Ty>),
    Map(Rc<Ty>, Rc<Ty>),
}

impl Ty {
    /// A list of these.
    #[must_use]
    pub fn list(of: Self) -> Self {
        Self::List(Rc::new(of))
    }

    /// The type of a field.
    #[must_use]
    pub fn of_field(ty: FieldType) -> Self {
        match ty {
            FieldType::Text => Self::Text,
            FieldType::Int => Self::Int,
            FieldType::Double => Self::Double,
            FieldType::Bool => Self::Bool,
            FieldType::Time => Self::Time,
            FieldType::Texts => Self::list(Self::Text),
            FieldType::Pairs => Self::Map(Rc::new(Self::Text), Rc::new(Self::Text)),
            FieldType::Headers => Self::Map(Rc::new(Self::Text), Rc::new(Self::list(Self::Text))),
            FieldType::Tree => Self::Dyn,
        }
    }

    /// Whether it is a number.
    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }

    /// Whether a value of one type can equal one of the other.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (Self::List(a), Self::List(b)) => a.meets(b),
            (Self::Map(k, v), Self::Map(l, w)) => k.meets(l) && v.meets(w),
            (a, b) => a == b || (a.is_number() && b.is_number()),
        }
    }

    /// The type that both have, or `dyn`.
    #[must_use]
    pub fn join(self, other: &Self) -> Self {
        if self == *other { self } else { Self::Dyn }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dyn => "dyn",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::Text => "string",
            Self::Bytes => "bytes",
            Self::Time => "timestamp",
            Self::Duration => "duration",
            Self::Type => "type",
            Self::Ip => "net.IP",
            Self::Cidr => "net.CIDR",
            Self::List(of) => return write!(f, "list({of})"),
            Self::Map(key, value) => return write!(f, "map({key}, {value})"),
        })
    }
}
