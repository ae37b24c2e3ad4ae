//! Patterns. A pattern is compiled with a bound on its size, and matched in time linear in the
//! text: there is no pattern that a rule could write and no text that a program could send by
//! which a match takes longer.

use globset::GlobBuilder;
use regex::{Regex, RegexBuilder};

/// Bytes of a compiled regular expression.
const LARGEST: usize = 1 << 20;
/// Bytes of a pattern.
const LONGEST: usize = 16 * 1024;

/// A regular expression in RE2's syntax.
pub(crate) fn regex(pattern: &str) -> Result<Regex, String> {
    built(pattern, false)
}

fn built(pattern: &str, any_is_any: bool) -> Result<Regex, String> {
    if pattern.len() > LONGEST {
        return Err(format!(
            "a pattern has at most {LONGEST} bytes; make several patterns of it"
        ));
    }
    let built = RegexBuilder::new(pattern)
        .size_limit(LARGEST)
        .dfa_size_limit(LARGEST)
        .nest_limit(96)
        .dot_matches_new_line(any_is_any)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            "the regular expression becomes too large; use fewer or smaller repetitions".into()
        }
        other => {
            // The last line says what is wrong; those before draw where, for a terminal.
            let text = other.to_string();
            let line = text.lines().last().unwrap_or_default();
            let what = line.strip_prefix("error: ").unwrap_or(line);
            format!("the regular expression is none: {what}")
        }
    })
}

/// A pattern with `*`, `**`, `?`, classes and alternatives, as a regular expression.
pub(crate) fn glob(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > LONGEST {
        return Err(format!(
            "a pattern has at most {LONGEST} bytes; make several patterns of it"
        ));
    }
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| format!("the pattern is none: {}", error.kind()))?;
    built(&of_characters(glob.regex()), true)
}

/// An expression about bytes, as the library writes it, as one about characters: `?` stands for a
/// character and not for one of its bytes.
fn of_characters(expression: &str) -> String {
    let mut out = Vec::with_capacity(expression.len());
    let plain = expression.strip_prefix("(?-u)").unwrap_or(expression);
    let mut rest = plain.as_bytes().iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let hex = rest
            .clone()
            .skip(1)
            .take(2)
            .map(char::from)
            .collect::<String>();
        match (rest.next(), u8::from_str_radix(&hex, 16)) {
            (Some(b'x'), Ok(byte)) => {
                out.push(byte);
                rest.nth(1);
            }
            (Some(escaped), _) => out.extend([b'\\', escaped]),
            (None, _) => out.push(b'\\'),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
