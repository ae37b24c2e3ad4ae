//! Paths of a policy as written (`~/x`, `./x`, `**/x`) to absolute patterns. Only the text is
//! looked at: links are followed by what enforces the path, at the time when it does, since a
//! path that was resolved here could lead elsewhere by then.

use crate::{PathGlob, PathPattern};
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
    let mut from_wild = text.split('/').skip_while(|part| !is_wild(part));
    if from_wild.any(|part| part == "..") {
        return Err((
            format!("\"{shown}\": what lies above a wildcard is not known"),
            "write the path without \"..\" behind a wildcard".to_owned(),
        ));
    }
    if is_wild(text) {
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
    let parts: Vec<&str> = rest
        .split('/')
        .filter(|p| !p.is_empty() && *p != ".")
        .collect();
    let literal = parts.iter().take_while(|p| !is_wild(p)).count();
    let root = normalise(
        &parts[..literal]
            .iter()
            .fold(root, |path, part| path.join(part)),
    );
    if literal == parts.len() {
        return PathPattern::Path(root);
    }
    PathPattern::Glob {
        root,
        glob: parts[literal..].join("/"),
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
