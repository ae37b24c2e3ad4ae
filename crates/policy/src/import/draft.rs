//! The policy while it is being put together. Everything goes through [`Draft::add`], which
//! asks the policy's own reader, so that no entry can mean something else once it is written.

use super::left_out::LeftOut;
use super::tree::{Item, Value};
use crate::diagnostic::Diagnostic;
use crate::keys::{self, Effect, KeyId};
use crate::paths::{Bases, expand};
use crate::read_value;
use crate::request::Request;
use crate::wide::Wide;
use bailiwick_event::{Origin, Text};

/// One entry, and the key of the source that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) key: KeyId,
    /// The variable's name, where the key is a table.
    pub(crate) name: Option<String>,
    pub(crate) value: String,
    pub(crate) from: String,
    pub(crate) origin: Origin,
}

/// A relative path that the source lets be written, until it is known what the workspace is.
#[derive(Clone, Debug)]
pub(crate) struct Inside {
    pub(crate) path: String,
    pub(crate) from: String,
    pub(crate) origin: Origin,
}

/// The policy that is being made.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) lines: Vec<Line>,
    pub(crate) left: Vec<LeftOut>,
    pub(crate) wrong: Vec<Diagnostic>,
    /// The key that makes the workspace writable.
    pub(crate) workspace: Option<String>,
    /// Whether that is no key of the source's, but what the tool does without one.
    pub(crate) by_habit: bool,
    /// The key that makes nothing of the workspace writable, whatever else is said.
    pub(crate) sealed: Option<String>,
    /// Whether the repository's own data stay as they are.
    pub(crate) git_sealed: bool,
    pub(crate) inside: Vec<Inside>,
}

/// What is said of a relative path that cannot begin at the workspace.
pub(crate) const RELATIVE: &str =
    "in the policy it begins at the folder of the policy's file, not where the command starts";
/// What to do about it.
pub(crate) const IN_FULL: &str =
    "keep the file at the root of the workspace, or write the path in full";

impl Draft {
    /// Tells that a key is not in the policy, or means less there.
    pub(crate) fn leave(
        &mut self,
        item: &Item<'_>,
        why: impl Into<String>,
        instead: impl Into<String>,
    ) {
        self.left.push(LeftOut {
            origin: item.origin(),
            key: match item.path.as_str() {
                "" => "the whole file".to_owned(),
                path => path.to_owned(),
            },
            why: why.into(),
            instead: instead.into(),
        });
    }

    /// Adds an entry; what the policy cannot say is told.
    pub(crate) fn add(&mut self, key: KeyId, value: &str, item: &Item<'_>) {
        if let Err((message, help)) = read_value::text(keys::of(key).kind, value) {
            let means = match keys::of(key).effect {
                Effect::Narrows => "so this is NOT denied",
                _ => "so it is not granted",
            };
            self.leave(item, format!("{message}, {means}"), help);
            return;
        }
        self.push(key, None, value, item);
    }

    /// Sets a variable.
    pub(crate) fn set(&mut self, name: &str, value: &str, item: &Item<'_>) {
        match read_value::variable(name, value) {
            Ok(_) => self.push(KeyId::Set, Some(name), value, item),
            Err((_, (message, help))) => self.leave(item, message, help),
        }
    }

    fn push(&mut self, key: KeyId, name: Option<&str>, value: &str, item: &Item<'_>) {
        self.lines.push(Line {
            key,
            name: name.map(str::to_owned),
            value: value.to_owned(),
            from: item.path.clone(),
            origin: item.origin(),
        });
    }

    /// A mistake in the source.
    fn wrong_type(&mut self, item: &Item<'_>, wanted: &str, example: &str) {
        let key = match item.path.as_str() {
            "" => "a configuration".to_owned(),
            path => format!("`{}`", Text::from(path)),
        };
        let is = item.node.value.kind();
        self.wrong.push(item.error(
            format!("{key} is {wanted}, not {is}"),
            format!("write it like {example}"),
        ));
    }

    /// The keys of what must be a table.
    pub(crate) fn table<'a>(&mut self, item: &Item<'a>) -> Vec<(&'a str, Item<'a>)> {
        if !matches!(item.node.value, Value::Table(_)) {
            self.wrong_type(item, "a table", "{ \"key\": value }");
        }
        item.keys()
    }

    /// The texts of what must be a list of texts.
    pub(crate) fn texts<'a>(&mut self, item: &Item<'a>) -> Vec<(&'a str, Item<'a>)> {
        if !matches!(item.node.value, Value::List(_)) {
            self.wrong_type(item, "a list of texts", "[\"one\", \"two\"]");
        }
        let mut texts = Vec::new();
        for element in item.elements() {
            match element.text() {
                Some(text) => texts.push((text, element)),
                None => self.wrong_type(&element, "a text", "\"one\""),
            }
        }
        texts
    }

    /// What must be true or false; null stands for nothing.
    pub(crate) fn flag(&mut self, item: &Item<'_>) -> Option<bool> {
        match item.node.value {
            Value::Flag(flag) => Some(flag),
            Value::Null => None,
            _ => {
                self.wrong_type(item, "true or false", "true");
                None
            }
        }
    }

    /// What must be a text.
    pub(crate) fn word<'a>(&mut self, item: &Item<'a>) -> Option<&'a str> {
        let text = item.text();
        if text.is_none() {
            self.wrong_type(item, "a text", "\"one\"");
        }
        text
    }

    /// The template that the policy extends, and the key that asks for it.
    pub(crate) fn base(&self) -> (&'static str, Option<&str>) {
        match (&self.sealed, &self.workspace) {
            (Some(key), _) => ("read-only", Some(key)),
            (None, None) => ("read-only", None),
            (None, Some(key)) if self.git_sealed => ("git-readonly", Some(key)),
            (None, Some(key)) => ("default", Some(key)),
        }
    }

    /// Leaves out what no policy may let be written, as every run would refuse it. A relative path is
    /// taken from where the policy is made.
    pub(crate) fn narrow(&mut self, request: &Request) {
        let wide = Wide::of(request);
        let bases = Bases {
            home: request.home.clone(),
            workspace: request.cwd.clone(),
            relative: request.cwd.clone(),
        };
        let left = &mut self.left;
        self.lines.retain(|line| {
            if line.key != KeyId::Write {
                return true;
            }
            let pattern = expand(&line.value, &bases);
            let Some(why) = wide.judge(&pattern) else {
                return true;
            };
            let flag = "; or add it, and run with --allow-wide-workspace";
            let (why, instead) = why.told(&pattern, &format!("\"{}\"", line.value), flag);
            left.push(LeftOut {
                origin: line.origin.clone(),
                key: line.from.clone(),
                why,
                instead,
            });
            false
        });
    }

    /// Decides what only the whole source can tell, and puts everything in order.
    pub(crate) fn settle(&mut self) {
        let inside = std::mem::take(&mut self.inside);
        let writable = self.workspace.is_some() && self.sealed.is_none();
        for path in inside {
            // A writable workspace has it already.
            if writable && !self.by_habit {
                continue;
            }
            let (why, instead) = match (&self.sealed, &self.workspace) {
                (Some(key), _) => (
                    format!("`{key}` lets nothing in the workspace be written"),
                    String::new(),
                ),
                (None, Some(habit)) => (
                    format!("{habit}: all of it, not \"{}\" alone", path.path),
                    "extend \"read-only\" instead of \"default\", and name the folders in \
                     [filesystem] write"
                        .to_owned(),
                ),
                (None, None) => (RELATIVE.to_owned(), IN_FULL.to_owned()),
            };
            self.left.push(LeftOut {
                origin: path.origin.clone(),
                key: path.from.clone(),
                why,
                instead,
            });
            if self.sealed.is_none() && !writable {
                self.lines.push(Line {
                    key: KeyId::Write,
                    name: None,
                    value: format!("./{}", path.path),
                    from: path.from,
                    origin: path.origin,
                });
            }
        }
        self.lines.sort_by_key(|line| line.key);
        let mut seen = std::collections::HashSet::new();
        // Of a variable that is set twice, the later one holds, as in the source.
        self.lines.reverse();
        let same = |line: &Line| match &line.name {
            Some(name) => (line.key, name.clone()),
            None => (line.key, line.value.clone()),
        };
        self.lines
            .retain(|line| line.name.is_none() || seen.insert(same(line)));
        self.lines.reverse();
        self.lines
            .retain(|line| line.name.is_some() || seen.insert(same(line)));
        self.left.sort_by(|a, b| place(a).cmp(&place(b)));
        self.left.dedup();
    }
}

/// Files stay apart; in a file, the order of its lines.
fn place(left: &LeftOut) -> (&str, u32, u32) {
    (&left.origin.file, left.origin.line, left.origin.column)
}
