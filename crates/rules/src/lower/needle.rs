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

    pub(crate) fn is_in(&self, text: &str) -> bool {
        if text.len() > SHORT {
            return self.finder.find(text.as_bytes()).is_some();
        }
        let (text, needle) = (text.as_bytes(), self.text.as_bytes());
        match needle {
            [a, b, c, d, rest @ ..] => in_short(text, [*a, *b, *c, *d], rest),
            [a, b, rest @ ..] => in_short(text, [*a, *b], rest),
            [a] => text.contains(a),
            [] => true,
        }
    }
}

/// Texts up to this length, as most are, are looked through place by place: the search that is
/// quick on long ones takes longer to begin than that.
const SHORT: usize = 64;

/// Whether a text contains a beginning and, right after it, the rest.
#[inline]
fn in_short<const N: usize>(text: &[u8], beginning: [u8; N], rest: &[u8]) -> bool {
    let Some(places) = (text.len() + 1).checked_sub(N + rest.len()) else {
        return false;
    };
    let at = |(place, window): (usize, &[u8])| {
        window == beginning && text[place + N..].starts_with(rest)
    };
    text.windows(N).take(places).enumerate().any(at)
}

impl fmt::Debug for Needle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}
