//! Variables of git's configuration that a sandboxed program may change, each with the values that can
//! neither execute a program, connect, read or write a file elsewhere, nor widen a mode or weaken a check.
//! A variable that is not in the table may not be changed, because git grows new ones.

use super::config::{self, Key, Variables};
use super::content::{Content, Site};
use super::layout::is_name_of_module;
use super::leads;
use super::remotes;
use super::variables::{Row, Sub, TABLE};
use std::collections::BTreeSet;

/// Which values a variable may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Any text without control characters: it is shown, or compared with text.
    Any,
    /// A truth or a number.
    Number,
    /// A truth, or how many processes or threads git starts at one time: few.
    Workers,
    /// One of these words, whatever their case.
    Words(&'static [&'static str]),
    /// `false`, and nothing that switches it on.
    Off,
    /// `true`, and nothing that switches it off.
    On,
    /// These words where the repository is made, and no other than before later.
    AtBirth(&'static [&'static str]),
    /// What it was, because git obeys it without a word.
    AsBefore,
    /// An address that git only connects to when the user asks for that remote.
    Url,
    /// A remote by its name, or the repository itself.
    Remote,
    /// A branch or tag by its whole name.
    Reference,
    /// Which references of a remote are fetched to where those of remotes are kept.
    Fetch,
    /// Which references are sent, none of them removed or overwritten.
    Push,
    /// A path below the working tree.
    Inside,
    /// Whether a submodule is active, by its path.
    Pattern,
    /// The working tree of a submodule, or of a git folder that stands alone.
    Tree,
}

impl Values {
    /// For a person, after "may be changed to".
    pub(super) fn shown(self) -> &'static str {
        match self {
            Self::Any | Self::Pattern => "text without control characters",
            Self::Number => "a number or a truth",
            Self::Workers => "a number up to 64 or a truth",
            Self::Words(_) | Self::AtBirth(_) => "one of git's own words for it",
            Self::Off => "false",
            Self::On => "true",
            Self::AsBefore => "what it was",
            Self::Url => {
                "an address without helper and option, or a folder that the sandbox sees (absolute, or without `..`)"
            }
            Self::Remote => "the name of a remote of this repository",
            Self::Reference => "the whole name of a branch or tag",
            Self::Fetch => "references that are kept below refs/remotes",
            Self::Push => "references that are sent and neither removed nor overwritten",
            Self::Inside => "a path in the working tree",
            Self::Tree => "a folder that the sandbox may write, outside of git's own",
        }
    }
}

/// Which values a variable may get in a file; none where it may not be changed.
pub(super) fn values(key: &Key, content: Content) -> Option<Values> {
    let in_file = match content {
        Content::Modules => key.section == "submodule" && key.subsection.is_some(),
        Content::ConfigOfTree => !matches!(
            key.section.as_str(),
            "remote" | "branch" | "submodule" | "extensions"
        ),
        _ => true,
    };
    let named = |name: &str| {
        name.split_ascii_whitespace()
            .any(|n| n == "*" || n == key.name)
    };
    let matches = |(section, sub, names, _): &&Row| {
        let right = match sub {
            Sub::No => key.subsection.is_none(),
            Sub::Yes => key.subsection.is_some(),
            Sub::Either => true,
        };
        *section == key.section && right && named(names)
    };
    let mut rows = TABLE.iter().flat_map(|(_, rows)| rows.iter());
    rows.find(matches)
        .map(|(.., values)| *values)
        .filter(|_| in_file && is_named_well(key))
}

/// Whether a subsection is a name that cannot mean something else, as a path or as a program.
fn is_named_well(key: &Key) -> bool {
    let Some(name) = &key.subsection else {
        return true;
    };
    let plain = !name.iter().any(u8::is_ascii_control);
    match key.section.as_str() {
        "submodule" => plain && is_name_of_module(name),
        // It connects to every remote, at times that a timer sets.
        "maintenance" => name.as_slice() != b"prefetch",
        "remote" => {
            plain
                && !name.is_empty()
                && !name.starts_with(b"-")
                && !has_parent(name)
                && !name.starts_with(b"/")
                // Git takes the name of a remote that has no address for one.
                && !name.contains(&b':')
        }
        _ => plain,
    }
}

/// A change of one configuration to another.
pub(super) struct Change<'a> {
    content: Content,
    old: &'a Variables,
    site: &'a Site<'a>,
    /// The names of all remotes, and of those that git fetches missing objects from without being asked.
    remotes: BTreeSet<&'a [u8]>,
    promised: BTreeSet<&'a [u8]>,
}

impl<'a> Change<'a> {
    pub(super) fn new(
        content: Content,
        old: &'a Variables,
        new: &'a Variables,
        site: &'a Site<'a>,
    ) -> Self {
        let (mut remotes, mut promised) = (BTreeSet::new(), BTreeSet::new());
        for (key, values) in old.iter().chain(new) {
            match (key.section.as_str(), &key.subsection, key.name.as_str()) {
                ("remote", Some(name), variable) => {
                    remotes.insert(name.as_slice());
                    if matches!(variable, "promisor" | "partialclonefilter") {
                        promised.insert(name.as_slice());
                    }
                }
                ("extensions", None, "partialclone") => {
                    promised.extend(values.iter().map(Vec::as_slice));
                }
                _ => {}
            }
        }
        Self {
            content,
            old,
            site,
            remotes,
            promised,
        }
    }

    /// Whether a variable may have this value.
    pub(super) fn allows(&self, key: &Key, values: Values, value: &[u8]) -> bool {
        let is = |word: &str| value.eq_ignore_ascii_case(word.as_bytes());
        let plain = is_shown_safely(value);
        match values {
            Values::Any if key.section == "branch" && key.name == "description" => {
                value.split(|&b| b == b'\n').all(is_shown_safely)
            }
            Values::Any => plain,
            Values::Pattern => plain,
            Values::Workers => {
                let text = std::str::from_utf8(value).unwrap_or_default();
                text.parse::<u8>().is_ok_and(|workers| workers <= 64)
                    || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic())
            }
            Values::Number => value.len() <= 20 && value.iter().all(u8::is_ascii_alphanumeric),
            Values::Words(words) => words.iter().any(|word| is(word)),
            Values::Off => ["false", "no", "off", "0", ""].iter().any(|word| is(word)),
            Values::On => is("true"),
            Values::AtBirth(words) => !self.is_old() && words.iter().any(|word| is(word)),
            Values::AsBefore => false,
            Values::Url => {
                let name = key.subsection.as_deref().unwrap_or_default();
                let promised = key.section == "remote" && self.promised.contains(name);
                let apart = key.section == "remote" && !remotes::may_be_fetched(value, self.site);
                remotes::is_harmless(value) && !promised && !apart
            }
            Values::Remote => value == b"." || self.remotes.contains(value),
            Values::Reference => value.starts_with(b"refs/") && plain && !value.contains(&b' '),
            Values::Fetch => is_fetched_well(value),
            Values::Push => plain && !value.starts_with(b"+") && !value.starts_with(b":"),
            Values::Inside => {
                plain && !value.starts_with(b"/") && !value.starts_with(b"-") && !has_parent(value)
            }
            Values::Tree => self.content != Content::Modules && leads::is_tree(value, self.site),
        }
    }

    /// Whether a variable of these values may be taken away.
    pub(super) fn may_be_absent(&self, values: Values) -> bool {
        match values {
            Values::On => false,
            Values::AtBirth(_) => !self.is_old() && !config::has_index(self.site),
            _ => true,
        }
    }

    /// Whether the repository was there before: git begins with the version of a format that it says next.
    fn is_old(&self) -> bool {
        let made = |(key, values): (&Key, &Vec<Vec<u8>>)| {
            let begun = key.name == "repositoryformatversion" && values == &[b"1"];
            key.section == "core" && !begun
        };
        self.old.iter().any(made)
    }
}

fn is_shown_safely(text: &[u8]) -> bool {
    !text.iter().any(|b| b.is_ascii_control() && *b != b'\t')
}

fn has_parent(path: &[u8]) -> bool {
    path.split(|&b| b == b'/').any(|part| part == b"..")
}

/// Whether what is fetched is kept where only remotes' references are: else a fetch would overwrite branches.
fn is_fetched_well(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"+").unwrap_or(value);
    if value.iter().any(|b| b.is_ascii_control()) {
        return false;
    }
    let Some(colon) = value.iter().rposition(|&b| b == b':') else {
        return true;
    };
    let to = &value[colon + 1..];
    if to.windows(2).any(|two| two == b"..") {
        return false;
    }
    // While a remote gets another name its references are those of the old one.
    to.starts_with(b"refs/remotes/")
        || to.starts_with(b"refs/tags/")
        || to.starts_with(b"refs/prefetch/")
        || to.is_empty()
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
