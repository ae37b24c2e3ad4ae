//! What is wrong with a condition, where, and how to mend it.

use super::Span;
use std::fmt;

/// A mistake in the text of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The bytes that are meant.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// How to mend it; may be empty.
    pub help: String,
}

impl SyntaxError {
    /// A mistake at these bytes.
    #[must_use]
    pub fn new(span: Span, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            help: help.into(),
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        Ok(())
    }
}
impl std::error::Error for SyntaxError {}
