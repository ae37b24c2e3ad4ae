//! Entries of one file that cannot all mean something: granted and denied at once, granted below
//! what is denied, written twice. Across files this is ordinary layering; within one file it is a
//! mistake, and a person who believes the wrong one of the two is not protected. What a file that is
//! extended takes away for good is told where a file is checked.

use crate::PathPattern;
use crate::cover;
use crate::diagnostic::Diagnostic;
use crate::entry::{Entry, Value};
use crate::keys::{Effect, KeyId};
use crate::paths::{self, Bases};
use crate::request::Request;
use crate::source_text::SourceText;
use crate::stack::Unit;
use crate::workspace::PROJECT;
use bailiwick_event::{HostPattern, Text};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Finds them.
pub(crate) fn find(source: &Arc<SourceText>, entries: &[Entry], found: &mut Vec<Diagnostic>) {
    duplicates(source, entries, found);
    files(source, entries, found);
    network(source, entries, found);
}

/// Finds what has no effect because another file of the same policy takes it away; templates, which
/// are made to be extended, are only asked.
pub(crate) fn across(units: &[Unit], path: &Path, request: &Request) -> Vec<Diagnostic> {
    let folder = path.parent().unwrap_or(path).to_path_buf();
    let workspace = match path.file_name().is_some_and(|name| name == PROJECT) {
        true => folder,
        // Any; different beginnings never compare as equal.
        false => PathBuf::from("/\0workspace"),
    };
    let bases = |unit: &Unit| Bases {
        home: request.home.clone(),
        workspace: workspace.clone(),
        relative: match unit.document.source.path.as_deref().and_then(Path::parent) {
            Some(folder) => folder.to_path_buf(),
            None => workspace.clone(),
        },
    };
    let mut found = Vec::new();
    for (at, unit) in units.iter().enumerate() {
        let source = &unit.document.source;
        if source.path.is_none() {
            continue;
        }
        let others = || units.iter().enumerate().filter(|(other, _)| *other != at);
        for entry in &unit.document.entries {
            let by = others().find_map(|(_, other)| {
                let mut entries = other.document.entries.iter();
                entries.find(|by| takes(by, &bases(other), entry, &bases(unit)))
            });
            let Some(by) = by else { continue };
            let message = format!(
                "this entry of `{}` has no effect: `{}` at {} takes it away",
                entry.key.path, by.key.path, by.origin
            );
            let help = "remove it, or extend another policy: what one denies no other gives back";
            found.push(Diagnostic::warning(
                source,
                entry.span.clone(),
                message,
                help,
            ));
        }
    }
    found
}

/// Whether an entry takes away all that another grants.
fn takes(by: &Entry, its: &Bases, entry: &Entry, bases: &Bases) -> bool {
    match (&by.value, &entry.value) {
        (Value::Text(taken), Value::Text(granted)) => {
            let applies = match by.key.id {
                KeyId::Deny => matches!(
                    entry.key.id,
                    KeyId::Read | KeyId::Write | KeyId::Private | KeyId::Copy
                ),
                KeyId::Protect => entry.key.id == KeyId::Write,
                _ => false,
            };
            applies
                && cover::path_covers(&paths::expand(taken, its), &paths::expand(granted, bases))
        }
        (Value::Host(taken), granted)
            if by.key.id == KeyId::NetworkDeny && entry.key.effect == Effect::Widens =>
        {
            match granted {
                Value::Http(rule) => cover::deny_covers(taken, &rule.host),
                Value::Host(host) => cover::deny_covers(taken, host),
                _ => false,
            }
        }
        _ => false,
    }
}

/// A text that is the same for entries that say the same.
fn identity(value: &Value) -> Option<String> {
    match value {
        Value::Text(t) => Some(
            t.strip_suffix('/')
                .unwrap_or(t)
                .trim_start_matches("./")
                .to_owned(),
        ),
        Value::Host(h) => Some(h.to_string()),
        Value::Set(s) => Some(format!("@{}", s.name())),
        Value::Publish(p) => Some(format!("{}", p.listen)),
        Value::Rule(rule) => Some(rule.id.clone()),
        Value::Http(_)
        | Value::Mapping(_)
        | Value::Variable(..)
        | Value::Number(_)
        | Value::Time(_) => None,
        Value::Inspect(rule) => Some(rule.host.to_string()),
        Value::Secret(secret) => Some(secret.name.clone()),
        Value::Resolver(address) => Some(address.to_string()),
    }
}

fn duplicates(source: &Arc<SourceText>, entries: &[Entry], found: &mut Vec<Diagnostic>) {
    let mut seen = HashSet::new();
    for entry in entries {
        if let Some(text) = identity(&entry.value)
            && !seen.insert((entry.key.id, text))
        {
            if let Value::Rule(rule) = &entry.value {
                let message = format!("\"{}\" is the name of another rule too", rule.id);
                let span = entry.span.clone();
                let help = "give one of them another name";
                found.push(Diagnostic::error(source, span, message, help));
                continue;
            }
            let message = format!("`{}` has this entry twice", entry.key.path);
            found.push(Diagnostic::warning(
                source,
                entry.span.clone(),
                message,
                "remove one of the two",
            ));
        }
    }
}

/// Patterns with stand-ins for the folders that are known only when a sandbox starts: different
/// beginnings never compare as equal.
fn pattern(text: &str) -> PathPattern {
    let at = |name: &str| PathBuf::from(format!("/\0{name}"));
    let bases = Bases {
        home: at("home"),
        workspace: at("relative"),
        relative: at("relative"),
    };
    paths::expand(text, &bases)
}

fn files(source: &Arc<SourceText>, entries: &[Entry], found: &mut Vec<Diagnostic>) {
    let of = |id: KeyId| {
        entries
            .iter()
            .filter(move |e| e.key.id == id)
            .filter_map(|e| match &e.value {
                Value::Text(text) => Some((e, text, pattern(text))),
                _ => None,
            })
    };
    let denied: Vec<_> = of(KeyId::Deny).collect();
    let protected: Vec<_> = of(KeyId::Protect).collect();
    for id in [
        KeyId::Read,
        KeyId::Write,
        KeyId::Private,
        KeyId::Copy,
        KeyId::Protect,
    ] {
        for (entry, text, granted) in of(id) {
            let by = denied
                .iter()
                .find(|(_, _, d)| cover::path_covers(d, &granted));
            let by_protect = || {
                protected
                    .iter()
                    .find(|(_, _, p)| cover::path_covers(p, &granted))
            };
            let (by, takes) = match by {
                Some(by) => (by, "denied"),
                None => match (id, by_protect()) {
                    (KeyId::Write | KeyId::Private | KeyId::Copy, Some(by)) => (by, "protected"),
                    _ => continue,
                },
            };
            let (shown, line) = (Text::from(text.as_str()), by.0.origin.line);
            let key = entry.key.path;
            let message = match by.2 == granted {
                true => format!("\"{shown}\" stands in `{key}`, and is {takes} on line {line}"),
                false => format!(
                    "\"{shown}\" in `{key}` has no effect: \"{}\" is {takes} on line {line}",
                    Text::from(by.1.as_str())
                ),
            };
            found.push(Diagnostic::error(
                source,
                entry.span.clone(),
                message,
                "remove one of the two",
            ));
        }
    }
}

fn network(source: &Arc<SourceText>, entries: &[Entry], found: &mut Vec<Diagnostic>) {
    let denied: Vec<(&Entry, &HostPattern)> = entries
        .iter()
        .filter(|e| e.key.id == KeyId::NetworkDeny)
        .filter_map(|e| match &e.value {
            Value::Host(h) => Some((e, h)),
            _ => None,
        })
        .collect();
    for entry in entries.iter().filter(|e| e.key.effect == Effect::Widens) {
        let host = match &entry.value {
            Value::Host(host) => host,
            Value::Http(rule) => &rule.host,
            _ => continue,
        };
        if let Some((by, pattern)) = denied.iter().find(|(_, d)| cover::deny_covers(d, host)) {
            let line = by.origin.line;
            let message = match pattern.host == host.host {
                true => format!(
                    "\"{host}\" stands in `{}`, and is denied on line {line}",
                    entry.key.path
                ),
                false => format!(
                    "\"{host}\" in `{}` has no effect: \"{pattern}\" is denied on line {line}",
                    entry.key.path
                ),
            };
            found.push(Diagnostic::error(
                source,
                entry.span.clone(),
                message,
                "remove one of the two",
            ));
        }
    }
}
