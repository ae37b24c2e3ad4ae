//! One check: its name, what is expected, what to do where it is not so, and the probe.

use super::world::World;
use std::time::Duration;

/// What was found: as expected, or not.
pub(crate) type Outcome = Result<String, String>;

/// A check.
pub(crate) struct Check {
    /// `group.name`.
    pub(crate) name: &'static str,
    /// What is expected.
    pub(crate) expected: &'static str,
    /// What to do where it is not so.
    pub(crate) remedy: &'static str,
    /// Finds it out.
    pub(crate) probe: fn(&dyn World) -> Outcome,
}

impl Check {
    /// The line of the report: a JSON object.
    pub(crate) fn line(&self, outcome: &Outcome, took: Duration) -> String {
        let (passed, found) = match outcome {
            Ok(found) => (true, found),
            Err(found) => (false, found),
        };
        format!(
            "{{\"check\":{},\"passed\":{passed},\"found\":{},\"expected\":{},\"remedy\":{},\"ms\":{}}}",
            quoted(self.name),
            quoted(found),
            quoted(self.expected),
            quoted(self.remedy),
            took.as_millis()
        )
    }
}

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// What an error says.
pub(crate) fn said(error: &std::io::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_whatever_was_found() {
        let check = Check {
            name: "a.b",
            expected: "x",
            remedy: "y",
            probe: |_| Ok(String::new()),
        };
        let line = check.line(
            &Err("a \"b\"\\\n\u{7f}".to_owned()),
            Duration::from_millis(3),
        );
        assert_eq!(
            line,
            "{\"check\":\"a.b\",\"passed\":false,\"found\":\"a \\\"b\\\"\\\\\\u000a\\u007f\",\
             \"expected\":\"x\",\"remedy\":\"y\",\"ms\":3}"
        );
    }
}
