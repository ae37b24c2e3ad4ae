//! Texts from outside are kept to a bound, and names only whole: a name that was cut short could
//! be another's.

/// The most text that is kept of a turn or an answer, in bytes.
pub(crate) const MAX_TEXT: usize = 8 * 1024;
/// The longest name or id, in bytes; a longer one is not known.
pub(super) const MAX_NAME: usize = 512;

/// The beginning of several texts, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    kept: String,
    /// A part has ended; the next one begins a line.
    ended: bool,
    full: bool,
}

impl Text {
    /// Bytes that it keeps.
    pub(super) fn size(&self) -> usize {
        self.kept.capacity()
    }

    /// Adds to the part that is being written.
    pub(super) fn push(&mut self, text: &str) {
        if text.is_empty() || self.full {
            return;
        }
        if std::mem::take(&mut self.ended) && !self.kept.is_empty() {
            self.add("\n");
        }
        self.add(text);
    }

    fn add(&mut self, text: &str) {
        let room = MAX_TEXT - self.kept.len();
        let kept = beginning(text, room);
        self.full |= kept.len() < text.len();
        self.kept.push_str(kept);
    }

    /// Ends a part.
    pub(super) fn end_part(&mut self) {
        self.ended = true;
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn into_string(self) -> Option<String> {
        (!self.kept.is_empty()).then_some(self.kept)
    }
}

/// The longest beginning of at most so many bytes.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
