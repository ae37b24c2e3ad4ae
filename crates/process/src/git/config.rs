//! Which changes of git's configuration a sandboxed program may make. Git runs programs that its
//! configuration names, on the host, when the user next looks at the repository; what an agent needs to
//! change (remotes, branches, submodules) runs nothing.

use super::content::{Content, Site};
use super::keys::{self, Values};
use super::parser;
use std::collections::BTreeMap;
use std::fmt;

/// A variable: section and name in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) section: String,
    pub(super) subsection: Option<Vec<u8>>,
    pub(super) name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            section,
            subsection,
            name,
        } = self;
        match subsection {
            Some(sub) => write!(f, "{section}.{}.{name}", String::from_utf8_lossy(sub)),
            None => write!(f, "{section}.{name}"),
        }
    }
}

/// Every variable with all its values, in the order of the file.
pub(super) type Variables = BTreeMap<Key, Vec<Vec<u8>>>;

/// Why a configuration is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Objection {
    /// It cannot be read as git would read it.
    Unreadable(usize),
    /// This variable may not be changed.
    Key(String),
    /// This variable may be changed, but not to this value.
    Value(String, &'static str),
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(line) => write!(f, "line {line} cannot be read as configuration"),
            Self::Key(key) => write!(f, "{key} may not be changed"),
            Self::Value(key, values) => write!(f, "{key} may be changed to {values} alone"),
        }
    }
}

/// The variables of a configuration.
pub(super) fn variables(text: &[u8]) -> Result<Variables, Objection> {
    parser::parse(text)
}

/// Whether `new` may take the place of `old`: every variable that differs must be harmless with its new
/// values.
pub(crate) fn accept(
    content: Content,
    old: &[u8],
    new: &[u8],
    site: &Site<'_>,
) -> Result<(), Objection> {
    let new = variables(new)?;
    // Git may read what is not read here (a NUL): nobody knows what would be taken away.
    let old = variables(old)?;
    let none = Vec::new();
    let change = keys::Change {
        content,
        old: &old,
        new: &new,
        site,
    };
    for key in old.keys().chain(new.keys()) {
        let (before, after) = (old.get(key).unwrap_or(&none), new.get(key).unwrap_or(&none));
        if before == after {
            continue;
        }
        // Taking away what the user has set may be as harmful as setting it.
        let Some(values) = keys::values(key, content) else {
            return Err(Objection::Key(key.to_string()));
        };
        if values == Values::AsBefore {
            return Err(Objection::Key(key.to_string()));
        }
        if !after.iter().all(|value| change.allows(key, values, value)) {
            return Err(Objection::Value(key.to_string(), values.shown()));
        }
    }
    Ok(())
}

/// Whether a configuration is of a repository whose ids are SHA-256's.
pub(crate) fn has_long_ids(text: &[u8]) -> bool {
    let of = |key: &Key| key.section == "extensions" && key.name == "objectformat";
    let long = |values: &Vec<Vec<u8>>| {
        values
            .last()
            .is_some_and(|value| value.eq_ignore_ascii_case(b"sha256"))
    };
    variables(text).is_ok_and(|all| all.iter().any(|(key, values)| of(key) && long(values)))
}

/// Whether a configuration holds nothing that a sandboxed program could not have set.
pub(crate) fn is_harmless(content: Content, text: &[u8], site: &Site<'_>) -> bool {
    accept(content, b"", text, site).is_ok()
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
