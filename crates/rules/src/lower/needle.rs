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
        match text.len() <= SHORT {
            true => self.is_in_short(text),
            false => self.finder.find(text.as_bytes()).is_some(),
        }
    }

    /// The same for a text of at most [`SHORT`] bytes.
    #[inline]
    pub(crate) fn is_in_short(&self, text: &str) -> bool {
        let (text, needle) = (text.as_bytes(), self.text.as_bytes());
        match needle.len() {
            0 => true,
            1 => text.contains(&needle[0]),
            2 | 3 => in_short::<2>(text, needle),
            _ => in_short::<4>(text, needle),
        }
    }
}

/// Texts up to this length, as most are, are looked through place by place: the search that is
/// quick on long ones takes longer to begin than that.
pub(crate) const SHORT: usize = 64;

/// Whether a text contains a needle of at least `N` bytes. Its first and its last bytes are
/// compared as one number each; only where both are there and do not meet is the rest looked at.
#[inline]
fn in_short<const N: usize>(text: &[u8], needle: &[u8]) -> bool {
    let length = needle.len();
    let Some(more) = text.len().checked_sub(length) else {
        return false;
    };
    let (Some(first), Some(last)) = (needle.first_chunk::<N>(), needle.last_chunk::<N>()) else {
        return false;
    };
    let ends = &text[length - N..];
    let at = |place: usize, start: &[u8], end: &[u8]| {
        start == first && end == last && (length <= 2 * N || &text[place..place + length] == needle)
    };
    let starts = text.windows(N).zip(ends.windows(N)).take(more + 1);
    starts
        .enumerate()
        .any(|(place, (start, end))| at(place, start, end))
}

impl fmt::Debug for Needle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}
