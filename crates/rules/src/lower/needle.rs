//! A text that others are searched for, with what the search needs to know of it beforehand.

use memchr::memmem::Finder;
use std::fmt;

/// A text to look for.
pub(crate) struct Needle {
    text: Box<str>,
    finder: Finder<'static>,
}

impl Needle {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            finder: Finder::new(text).into_owned(),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    #[inline]
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.finder.find(text.as_bytes()).is_some()
    }
}

impl fmt::Debug for Needle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}
