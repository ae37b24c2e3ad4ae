//! What is wrong with a policy file, where, and how to mend it. The file may be hostile (it came
//! with a repository), so nothing of it reaches the terminal unescaped, not even the quoted line; of a
//! file that is withheld ([`crate::reach`]) nothing reaches it at all but the place and the kind of the
//! mistake.

use crate::source_text::SourceText;
use bailiwick_event::{Origin, Text};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;

/// Columns of a line that are shown around the place that is meant.
const WINDOW: usize = 160;

/// What is said of a mistake in a file that is withheld.
const UNSAID: &str = "what stands here has no place in a policy, or not in this way";

/// Why nothing else is said of it, and what helps.
const WITHHELD: &str =
    "look into the file yourself: a project's policy names it, so that nothing of it is shown here";

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file works, but probably not as meant.
    Warning,
}

/// One finding about a policy file.
#[derive(Clone)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong, in one clause.
    pub message: String,
    /// How to mend it; may be empty.
    pub help: String,
    pub(crate) source: Arc<SourceText>,
    pub(crate) span: Range<usize>,
}

impl Diagnostic {
    /// A mistake whose words may quote the file; of one that is withheld they are not told.
    pub(crate) fn error(
        source: &Arc<SourceText>,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        match source.withheld {
            true => Self::plain(source, span, UNSAID, WITHHELD),
            false => Self::plain(source, span, message, help),
        }
    }

    /// A mistake whose words hold nothing of the file.
    pub(crate) fn plain(
        source: &Arc<SourceText>,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let len = source.text.len();
        let start = span.start.min(len);
        Self {
            severity: Severity::Error,
            message: message.into(),
            help: help.into(),
            source: Arc::clone(source),
            span: start..span.end.clamp(start, len),
        }
    }

    pub(crate) fn warning(
        source: &Arc<SourceText>,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(source, span, message, help)
        }
    }

    /// The same, with words for a file that is withheld: those of the others may quote the file.
    pub(crate) fn of_kind(self, kind: &'static str) -> Self {
        match self.source.withheld {
            true => Self {
                message: kind.to_owned(),
                ..self
            },
            false => self,
        }
    }

    /// Where it is.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.source.origin(self.span.start)
    }

    /// The bytes of the file that it is about.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

impl fmt::Debug for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl PartialEq for Diagnostic {
    fn eq(&self, other: &Self) -> bool {
        self.span == other.span
            && self.message == other.message
            && self.source.shown == other.source.shown
    }
}

/// A piece of a line as it is shown: tabs as four blanks, everything dangerous escaped.
fn shown(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            '\\' => out.push('\\'),
            c => out.push_str(&Text::from(c.encode_utf8(&mut [0; 4]) as &str).to_string()),
        }
    }
    out
}

/// The last `limit` characters of a text.
fn tail(text: &str, limit: usize) -> &str {
    let from = text.char_indices().rev().take(limit).last();
    &text[from.map_or(text.len(), |(i, _)| i)..]
}

/// The first `limit` characters of a text.
fn head(text: &str, limit: usize) -> &str {
    &text[..text
        .char_indices()
        .nth(limit)
        .map_or(text.len(), |(i, _)| i)]
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let origin = self.origin();
        write!(f, "{origin}: {severity}: {}", self.message)?;
        if self.source.withheld {
            return write!(f, "\nhelp: {}", self.help);
        }
        let (_, line) = self.source.line_at(self.span.start);
        let text = &self.source.text;
        // An error at the line's end lies behind its last character.
        let start = floor(text, self.span.start.clamp(line.start, line.end));
        let end = floor(text, self.span.end.clamp(start, line.end));
        let before = &text[line.start..start];
        let marked = head(&text[start..end], WINDOW);
        let after = &text[start + marked.len()..line.end];
        let lead = tail(before, WINDOW / 2);
        let rest = head(after, WINDOW / 2);
        let cut = |yes: bool| if yes { "…" } else { "" };
        let lead = format!("{}{}", cut(lead.len() < before.len()), shown(lead));
        let number = origin.line.to_string();
        let margin = " ".repeat(number.len());
        write!(
            f,
            "\n {number} | {lead}{}{}{}\n {margin} | {}{}",
            shown(marked),
            shown(rest),
            cut(rest.len() < after.len()),
            " ".repeat(lead.width()),
            "^".repeat(shown(marked).width().max(1)),
        )?;
        if !self.help.is_empty() {
            write!(f, "\nhelp: {}", self.help)?;
        }
        Ok(())
    }
}

/// The nearest offset at or before `at` that is the start of a character.
fn floor(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|i| text.is_char_boundary(*i))
        .unwrap_or(0)
}

#[cfg(test)]
#[path = "diagnostic_tests.rs"]
mod tests;
