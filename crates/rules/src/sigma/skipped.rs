//! A rule that was not carried over: which, where, and exactly why. A rule that says something
//! else than its author meant is worse than none, so whatever is in doubt ends here.

use super::yaml::At;
use std::fmt;

/// A rule, or a whole file, that was not carried over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The rule's title; empty where it has none or was not reached.
    pub title: String,
    /// The line of what is at fault, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// Why.
    pub reason: Reason,
}

impl Skipped {
    pub(super) fn new(at: At, reason: Reason) -> Self {
        Self {
            title: String::new(),
            line: at.line,
            column: at.column,
            reason,
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.line, self.column)?;
        if !self.title.is_empty() {
            write!(f, "{:?}: ", self.title)?;
        }
        write!(f, "{}", self.reason)
    }
}
impl std::error::Error for Skipped {}

/// Why a rule was not carried over. The text says what exactly and, where there is one, the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The text is no YAML, or has what a rule never has: tags, a key twice.
    Yaml(String),
    /// The text, or what it stands for, is larger or deeper than is read.
    Limit(String),
    /// An attribute of the rule is missing or wrong.
    Rule(String),
    /// It is a correlation, a filter or a collection and no rule of its own.
    Kind(String),
    /// No event type stands for its log source.
    Logsource(String),
    /// The event type has no such field.
    Field {
        /// The field as Sigma calls it.
        name: String,
        /// The event type.
        on: &'static str,
    },
    /// A modifier is not supported, or does not go with the others.
    Modifier(String),
    /// A value does not fit its field or its modifiers.
    Value(String),
    /// A selection is empty or of no known shape.
    Selection(String),
    /// The condition is none, or has what is not supported.
    Condition(String),
    /// A regular expression would not be read as it was meant.
    Regex(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yaml(what) => write!(f, "this cannot be read as YAML: {what}"),
            Self::Field { name, on } => {
                write!(f, "the field {name:?} has no counterpart in {on} events")
            }
            Self::Regex(what) => write!(f, "the regular expression is not carried over: {what}"),
            Self::Limit(what)
            | Self::Rule(what)
            | Self::Kind(what)
            | Self::Logsource(what)
            | Self::Modifier(what)
            | Self::Value(what)
            | Self::Selection(what)
            | Self::Condition(what) => f.write_str(what),
        }
    }
}
