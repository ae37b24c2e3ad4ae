//! Which changes of git's configuration a sandboxed program may make. Git runs programs that its
//! configuration names, on the host, when the user next looks at the repository; what an agent needs to
//! change (remotes, branches, submodules) runs nothing.

use super::content::{Content, Site};
use super::keys::{self, Values};
use super::{followed, leads, parser};
use crate::paths;
use std::collections::BTreeMap;
use std::fmt;

/// A variable: section and name in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) section: String,
    pub(super) subsection: Option<Vec<u8>>,
    pub(super) name: String,
}

impl Key {
    /// The variable of a name as a person writes it: `section.name`, or with a subsection between them.
    pub(super) fn named(text: &str) -> Option<Self> {
        let (section, rest) = text.split_once('.')?;
        let (subsection, name) = match rest.rsplit_once('.') {
            Some((subsection, name)) => (Some(subsection.into()), name),
            None => (None, rest),
        };
        Some(Self {
            section: section.to_ascii_lowercase(),
            subsection,
            name: name.to_ascii_lowercase(),
        })
    }
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
    accept_variables(content, &variables(old)?, &new, site)
}

fn accept_variables(
    content: Content,
    old: &Variables,
    new: &Variables,
    site: &Site<'_>,
) -> Result<(), Objection> {
    // What is there says what the index was decided for; it may be this very text.
    if content == Content::Config
        && has_index(site)
        && have_long_ids(new) != has_long_ids(site).unwrap_or_default()
    {
        let key = "extensions.objectformat".to_owned();
        return Err(Objection::Value(
            key,
            "what the index beside it was made for",
        ));
    }
    let none = Vec::new();
    let change = keys::Change::new(content, old, new, site);
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
        let taken_away = after.is_empty() && !change.may_be_absent(values);
        if taken_away || !after.iter().all(|value| change.allows(key, values, value)) {
            return Err(Objection::Value(key.to_string(), values.shown()));
        }
    }
    Ok(())
}

/// Whether the ids of the repository that a file is in are those of SHA-256.
pub(super) fn has_long_ids(site: &Site<'_>) -> Result<bool, Objection> {
    let path = match site.folder().ends_with("rebase-apply") {
        true => site.folder(),
        false => site.path,
    };
    let site = Site { path, ..*site };
    let folder = site.shared_folder();
    match followed::read(&paths::below(site.root, &folder.join("config"))) {
        Some(text) => says_long_ids(&text),
        None => Ok(false),
    }
}

/// Whether git has not all objects of a repository and fetches the others when it needs them. Where its configuration
/// cannot be read it has all.
pub(crate) fn is_partial(site: &Site<'_>) -> bool {
    let config = paths::below(site.root, &site.shared_folder().join("config"));
    let variables = followed::read(&config).and_then(|text| variables(&text).ok());
    let is_meant = |key: &Key| match key.section.as_str() {
        "extensions" => key.name == "partialclone",
        "remote" => key.name == "promisor",
        _ => false,
    };
    variables.is_some_and(|variables| variables.keys().any(is_meant))
}

/// Whether git obeys lists of a sparse checkout. A configuration that cannot be read may say so.
pub(crate) fn is_sparse(site: &Site<'_>) -> bool {
    let own = ["config.worktree", "config"].map(|name| site.folder().join(name));
    let mut files = own.into_iter().chain([site.shared_folder().join("config")]);
    files.any(|file| {
        let text = followed::read(&paths::below(site.root, &file)).unwrap_or_default();
        let is_meant = |(key, values): (&Key, &Vec<Vec<u8>>)| {
            let named = key.section == "core" && key.name == "sparsecheckout";
            named
                && !values
                    .iter()
                    .all(|value| value.eq_ignore_ascii_case(b"false"))
        };
        variables(&text).map_or(true, |all| all.iter().any(is_meant))
    })
}

fn says_long_ids(text: &[u8]) -> Result<bool, Objection> {
    Ok(have_long_ids(&variables(text)?))
}

/// Whether git takes a repository with this configuration for one of SHA-256. It looks at extensions where the
/// version of the format says that there may be some.
fn have_long_ids(variables: &Variables) -> bool {
    let last = |section: &str, name: &str| {
        let key = Key {
            section: section.to_owned(),
            subsection: None,
            name: name.to_owned(),
        };
        variables.get(&key).and_then(|values| values.last())
    };
    let version = last("core", "repositoryformatversion");
    let version = version.and_then(|value| std::str::from_utf8(value).ok()?.parse::<u32>().ok());
    let format = last("extensions", "objectformat");
    version.is_some_and(|version| version > 0)
        && format.is_some_and(|format| format.eq_ignore_ascii_case(b"sha256"))
}

/// Whether an index is there that was decided for what a configuration says.
pub(super) fn has_index(site: &Site<'_>) -> bool {
    let has = |name: &str| paths::below(site.root, &site.folder().join(name)).exists();
    has("index") || has("worktrees")
}

/// Whether a configuration may be taken away, because it holds nothing that a sandboxed program could not have
/// set.
///
/// # Errors
/// Why it may not, for a person.
pub(crate) fn check_removal(content: Content, text: &[u8], site: &Site<'_>) -> Result<(), String> {
    let accepted = variables(text).and_then(|mut all| {
        // The working tree may be gone already, and with it the file `.git` that leads back.
        let is_tree = |key: &Key| key.section == "core" && key.name == "worktree";
        let may_be_tree = |value: &Vec<u8>| leads::may_be_place_of_module(value, site);
        all.retain(|key, values| !is_tree(key) || !values.iter().all(may_be_tree));
        accept_variables(content, &Variables::new(), &all, site)
    });
    if let Err(objection) = accepted {
        return Err(format!(
            "it holds what the program may not set: {objection}"
        ));
    }
    match says_long_ids(text) == Ok(true) && has_index(site) {
        true => Err(String::from(
            "without it git reads the index beside it as another; remove that first",
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
