//! Paths of a policy as written (`~/x`, `./x`, `**/x`) to absolute patterns. Only the text is
//! looked at: links are followed by what enforces the path, at the time when it does, since a
//! path that was resolved here could lead elsewhere by then.

use crate::{PathGlob, PathPattern, braces};
use bailiwick_event::Text;
use std::path::{Component, Path, PathBuf};

/// Where relative paths of a file begin.
#[derive(Clone, Debug)]
pub(crate) struct Bases {
    pub(crate) home: PathBuf,
    pub(crate) workspace: PathBuf,
    /// Where a relative path begins: the file's folder, or the workspace.
    pub(crate) relative: PathBuf,
}

fn is_wild(part: &str) -> bool {
    part.contains(['*', '?', '[']) || PathGlob::names_others(part)
}

/// Whether a text means more than one path.
pub(crate) fn is_pattern(text: &str) -> bool {
    pattern_at(text) < text.len()
}

/// Where the pattern of a text begins, at the start of a part: with the first wildcard, or with the first alternatives
/// (`{a,b}`). Its length where it has neither: before both, braces without a comma are names.
fn pattern_at(text: &str) -> usize {
    let starts = std::iter::once(0).chain(text.match_indices('/').map(|(at, _)| at + 1));
    let mut parts = starts.zip(text.split('/'));
    let wild = parts.find(|(_, part)| is_wild(part)).map(|(at, _)| at);
    let alternatives = braces::alternatives(text, false);
    let alternatives = alternatives.map(|(above, ..)| above.rfind('/').map_or(0, |at| at + 1));
    let both = wild.into_iter().chain(alternatives);
    both.min().unwrap_or(text.len())
}

/// Whether a text can be a path; the error is the message and the help.
pub(crate) fn check(text: &str) -> Result<(), (String, String)> {
    let shown = Text::from(text);
    if text.starts_with('~') && text != "~" && !text.starts_with("~/") {
        return Err((
            format!("\"{shown}\": the home directory of another user is not known here"),
            "write the path in full, or ~/ for your own home directory".to_owned(),
        ));
    }
    if let Some(rest) = text
        .strip_prefix("$HOME")
        .or_else(|| text.strip_prefix("${HOME}"))
    {
        return Err((
            format!("\"{shown}\": variables are not read in paths"),
            format!("write \"~{}\"", Text::from(rest)),
        ));
    }
    let (literal, pattern) = text.split_at(pattern_at(text));
    if ["\\{", "\\}"].iter().any(|brace| literal.contains(brace)) {
        return Err((
            format!("\"{shown}\": a backslash before a brace is part of the name here"),
            "write a brace that is to mean itself as `[{]` or `[}]`".to_owned(),
        ));
    }
    if pattern.split('/').any(|part| part == "..") {
        return Err((
            format!("\"{shown}\": what lies above a wildcard is not known"),
            "write the path without \"..\" behind a wildcard".to_owned(),
        ));
    }
    if let Some(why) = braces::objection(pattern) {
        return Err((
            format!("\"{shown}\": {why}"),
            "write an entry for each alternative".to_owned(),
        ));
    }
    if is_pattern(text) {
        PathGlob::new(text).map_err(|why| {
            (
                format!("\"{shown}\" is no glob: {why}"),
                "`*`, `?`, `[a-z]` and `**` are known; see docs/policy.md".to_owned(),
            )
        })?;
    }
    Ok(())
}

/// The pattern that a text means.
pub(crate) fn expand(text: &str, bases: &Bases) -> PathPattern {
    let (root, rest) = match text {
        "~" => (bases.home.clone(), ""),
        text if text.starts_with("~/") => (bases.home.clone(), &text[2..]),
        text if text.starts_with('/') => (PathBuf::from("/"), text),
        text if text.starts_with("**/") => (bases.workspace.clone(), text),
        text => (bases.relative.clone(), text),
    };
    let (literal, pattern) = rest.split_at(pattern_at(rest));
    let parts = |text| str::split(text, '/').filter(|part| !part.is_empty() && *part != ".");
    let root = normalise(&parts(literal).fold(root, |path, part| path.join(part)));
    if pattern.is_empty() {
        return PathPattern::Path(root);
    }
    let glob: Vec<&str> = parts(pattern).collect();
    PathPattern::Glob {
        root,
        glob: glob.join("/"),
    }
}

/// A path without `.` and `..`, by its text alone.
pub(crate) fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

impl PathPattern {
    /// How many components of `path` lie in what the pattern covers, down to and including the
    /// covered folder: the larger, the more specific. None: `path` is not covered.
    #[must_use]
    pub fn covers(&self, path: &Path) -> Option<usize> {
        match self {
            Self::Path(p) => path.starts_with(p).then(|| p.components().count()),
            Self::Glob { root, glob } => {
                let rest = path.strip_prefix(root).ok()?;
                let matcher = PathGlob::new(glob).ok()?;
                let above = root.components().count();
                let mut prefix = PathBuf::new();
                for (i, part) in rest.components().enumerate() {
                    prefix.push(part);
                    if matcher.is_match(&prefix) {
                        return Some(above + i + 1);
                    }
                }
                None
            }
        }
    }
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
