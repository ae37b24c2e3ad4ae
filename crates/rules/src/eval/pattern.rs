//! Patterns. A pattern is compiled with a bound on its size, and matched in time linear in the
//! text: there is no pattern that a rule could write and no text that a program could send by
//! which a match takes longer.

use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};

/// Bytes of a compiled regular expression.
const LARGEST: usize = 1 << 20;
/// Bytes of a pattern.
const LONGEST: usize = 16 * 1024;

/// A regular expression in RE2's syntax.
pub(crate) fn regex(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > LONGEST {
        return Err(format!("a pattern has at most {LONGEST} bytes"));
    }
    let built = RegexBuilder::new(pattern)
        .size_limit(LARGEST)
        .dfa_size_limit(LARGEST)
        .nest_limit(96)
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

/// A pattern with `*`, `**`, `?`, classes and alternatives.
pub(crate) fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    if pattern.len() > LONGEST {
        return Err(format!("a pattern has at most {LONGEST} bytes"));
    }
    let built = GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build();
    let glob = built.map_err(|error| format!("the pattern is none: {}", error.kind()))?;
    // The same bound as for every other expression; the set would take any size.
    regex(glob.regex().trim_start_matches("(?-u)"))?;
    Ok(glob.compile_matcher())
}
