//! What came of a piece of work: a line of JSON.

use crate::doctor::quoted;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Duration;

/// What came of it, or why nothing did.
pub(super) type Done = Result<Answer, String>;

/// What an error about a path says.
pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("{path}: {error}")
}

/// An answer: names with numbers or texts.
#[derive(Debug, Default)]
pub(super) struct Answer(String);

impl Answer {
    /// That it could not be done.
    pub(super) fn error(why: &str) -> Self {
        Self::default().text("error", why)
    }

    fn member(mut self, name: &str, value: &str) -> Self {
        let comma = if self.0.is_empty() { "" } else { "," };
        let _ = write!(self.0, "{comma}{}:{value}", quoted(name));
        self
    }

    /// With a number.
    pub(super) fn number(self, name: &str, value: u64) -> Self {
        self.member(name, &value.to_string())
    }

    /// With a text.
    pub(super) fn text(self, name: &str, value: &str) -> Self {
        self.member(name, &quoted(value))
    }

    /// With a time in nanoseconds.
    pub(super) fn took(self, took: Duration) -> Self {
        self.number("ns", u64::try_from(took.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The line.
    pub(super) fn line(&self) -> String {
        format!("{{{}}}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_object_on_one_line() {
        let answer = Answer::default()
            .took(Duration::from_micros(3))
            .text("said", "a \"b\"\n");
        let line = r#"{"ns":3000,"said":"a \"b\"\u000a"}"#;
        assert_eq!(answer.line(), line);
        assert_eq!(Answer::error("no").line(), r#"{"error":"no"}"#);
    }
}
