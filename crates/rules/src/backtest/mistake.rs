//! What is wrong with a corpus, and where.

use std::fmt;
use std::sync::Arc;

/// A line that is no recorded event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file as the user knows it.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong and how to mend it.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            message,
        } = self;
        write!(f, "{file}:{line}:{column}: {message}")
    }
}

/// Why a corpus was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorpusError {
    /// A line is no recorded event.
    Line(Mistake),
    /// A file cannot be read.
    Io {
        /// The file as the user knows it.
        file: Arc<str>,
        /// What the system says.
        why: String,
    },
}

impl fmt::Display for CorpusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(mistake) => mistake.fmt(f),
            Self::Io { file, why } => write!(f, "{file} cannot be read: {why}"),
        }
    }
}
impl std::error::Error for CorpusError {}
