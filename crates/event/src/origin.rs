//! Where an entry of a policy was written, so that every refusal can name a line that a person
//! can open.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A position in a policy file, or a built-in default.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The file as the user knows it (`./bailiwick.toml`, `template:agent`, `built-in`).
    pub file: Arc<str>,
    /// The line, counted from 1; 0 where the entry stands in no file.
    pub line: u32,
    /// The column in characters, counted from 1; 0 where the entry stands in no file.
    pub column: u32,
}

impl Origin {
    /// An origin inside a file.
    #[must_use]
    pub fn new(file: impl Into<Arc<str>>, line: u32, column: u32) -> Self {
        Self {
            file: file.into(),
            line,
            column,
        }
    }

    /// The origin of what the product itself always enforces.
    #[must_use]
    pub fn built_in() -> Self {
        Self::new("built-in", 0, 0)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            f.write_str(&self.file)
        } else {
            write!(f, "{}:{}:{}", self.file, self.line, self.column)
        }
    }
}
