//! Why a condition has no value for an event.

use bailiwick_event::fields::Field;
use std::borrow::Cow;
use std::fmt;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The event does not have the field.
    NoSuchField,
    /// The map does not have the key.
    NoSuchKey,
    /// The list does not have the place.
    NoSuchElement,
    /// The operator or function does not take such values.
    NoSuchOverload,
    /// Division or remainder by zero.
    DivisionByZero,
    /// The result does not fit into its type.
    Overflow,
    /// The value cannot be converted.
    BadConversion,
    /// A pattern, time zone, address or place that is none.
    BadArgument,
    /// A map has a key twice.
    RepeatedKey,
    /// The evaluation took more steps than one may take.
    TooExpensive,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::NoSuchField,
        Self::NoSuchKey,
        Self::NoSuchElement,
        Self::NoSuchOverload,
        Self::DivisionByZero,
        Self::Overflow,
        Self::BadConversion,
        Self::BadArgument,
        Self::RepeatedKey,
        Self::TooExpensive,
    ];
}

/// Why a condition has no value. To make one costs nothing where a field is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    /// What went wrong.
    pub kind: ErrorKind,
    /// In words.
    pub message: Cow<'static, str>,
}

impl EvalError {
    /// An error of that kind.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// The event does not have the field.
    #[must_use]
    pub fn absent(field: Field) -> Self {
        Self::new(ErrorKind::NoSuchField, field.info().path)
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ErrorKind::NoSuchField => write!(f, "the event has no `{}`", self.message),
            _ => f.write_str(&self.message),
        }
    }
}
impl std::error::Error for EvalError {}
