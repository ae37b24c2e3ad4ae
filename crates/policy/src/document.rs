//! A policy file, parsed and checked against the table of keys. All mistakes are found in one
//! pass: a person who mends a file should not have to run the command once per mistake.

use crate::contradictions;
use crate::diagnostic::Diagnostic;
use crate::entry::{Entry, Value};
use crate::keys::{self, HTTP_KEYS, KEYS, Key, KeyId, Kind, SECTIONS};
use crate::parsed;
use crate::read_value as read;
use crate::secrets;
use crate::source_text::SourceText;
use crate::{HttpRule, Severity};
use bailiwick_event::closest;
use bailiwick_event::fields::EventType;
use bailiwick_event::{Origin, Text};
use bailiwick_rules::pack::{Mistake, RuleKind, read_rule, warnings_of};
use bailiwick_rules::{LESS_MEMORY, Memory};
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

type Item<'a> = Spanned<DeValue<'a>>;

/// The events that a boundary asks rules about. A rule of a policy's own about another would hold
/// nothing back, and is refused; a pack, which is for other versions and backends too, may have it.
const ASKED: [EventType; 8] = [
    EventType::HttpRequest,
    EventType::HttpResponse,
    EventType::ModelRequest,
    EventType::ModelResponse,
    EventType::DnsRequest,
    EventType::DnsResponse,
    EventType::Socket,
    EventType::ProcessExec,
];

/// Whether rules that decide are asked about events of a type; where not, why, and what to write
/// instead.
///
/// # Errors
/// The mistake and its remedy.
pub fn asks(on: EventType) -> Result<(), (String, String)> {
    if ASKED.contains(&on) {
        return Ok(());
    }
    let names: Vec<_> = ASKED.iter().map(|on| on.name()).collect();
    Err((
        format!("no boundary asks rules about {on} yet"),
        format!(
            "they are asked about {}; a detection may be about any event, and [filesystem] decides about files",
            names.join(", ")
        ),
    ))
}

/// Rules, and detections, of one file.
const MOST_RULES: usize = 1_000;
/// Mistakes in rules that are told at once.
const MOST_MISTAKES: usize = 100;

/// A parsed policy file.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) source: Arc<SourceText>,
    /// In the order of the file.
    pub(crate) entries: Vec<Entry>,
    /// Where `[network] allow` stands, or the table in which it would.
    pub(crate) network: Option<Origin>,
    pub(crate) warnings: Vec<Diagnostic>,
    /// What its rules take.
    pub(crate) memory: Memory,
}

impl Document {
    /// The document of a file's text; every mistake is in the error.
    pub(crate) fn parse(source: SourceText) -> Result<Self, Vec<Diagnostic>> {
        let source = Arc::new(source);
        parsed::of(&source).map_or_else(|| Self::read(source), Ok)
    }

    /// Reads a file's text.
    pub(crate) fn read(source: Arc<SourceText>) -> Result<Self, Vec<Diagnostic>> {
        let mut reader = Reader {
            source: &source,
            entries: Vec::new(),
            network: None,
            found: Vec::new(),
            memory: Memory::default(),
        };
        let (table, errors) = DeTable::parse_recoverable(&source.text);
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            let found = Diagnostic::error(&source, span, sentence(error.message()), "");
            reader.found.push(found.of_kind("this is not TOML"));
        }
        if reader.found.is_empty() {
            reader.table("", table.get_ref());
        }
        let Reader {
            mut entries,
            network,
            mut found,
            memory,
            ..
        } = reader;
        entries.sort_by_key(|e| e.span.start);
        if found.is_empty() {
            contradictions::find(&source, &entries, &mut found);
        }
        found.sort_by_key(|d| d.span.start);
        if found.iter().any(|d| d.severity == Severity::Error) {
            return Err(found);
        }
        Ok(Self {
            source,
            entries,
            network,
            warnings: found,
            memory,
        })
    }

    /// The entries of one key.
    pub(crate) fn of(&self, id: KeyId) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |e| e.key.id == id)
    }
}

/// The parser's words without control characters, which it quotes from the file.
fn sentence(message: &str) -> String {
    Text::from(message).to_string()
}

struct Reader<'a> {
    source: &'a Arc<SourceText>,
    entries: Vec<Entry>,
    network: Option<Origin>,
    found: Vec<Diagnostic>,
    memory: Memory,
}

/// A table's keys in the order of the file.
fn in_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(&'t Spanned<std::borrow::Cow<'i, str>>, &'t Item<'i>)> {
    let mut pairs: Vec<_> = table.iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    pairs
}

impl Reader<'_> {
    fn error(&mut self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.found
            .push(Diagnostic::error(self.source, span, message, help));
    }

    fn wrong_type(&mut self, key: &Key, item: &Item<'_>) {
        let is = kind_of(item.get_ref());
        self.error(
            item.span(),
            format!("`{}` is {}, not {is}", key.path, key.kind.describe()),
            format!("write {} = {}", key.name(), key.example),
        );
    }

    fn push(&mut self, key: &'static Key, value: Value, span: Range<usize>) {
        let origin = self.source.origin(span.start);
        self.entries.push(Entry {
            key,
            value,
            span,
            origin,
        });
    }

    fn table(&mut self, section: &str, table: &DeTable<'_>) {
        for (name, item) in in_order(table) {
            let path = match section {
                "" => name.get_ref().to_string(),
                section => format!("{section}.{}", name.get_ref()),
            };
            if let Some(key) = keys::find(&path) {
                self.key(key, name.span(), item);
            } else if SECTIONS.iter().any(|(s, _)| *s == path) {
                match item.get_ref() {
                    DeValue::Table(inner) => {
                        if path == "network" {
                            self.network = Some(self.source.origin(name.span().start));
                        }
                        self.table(&path, inner);
                    }
                    other => {
                        let is = kind_of(other);
                        self.error(
                            item.span(),
                            format!("`{path}` is a table, not {is}"),
                            format!("write [{path}] on a line of its own"),
                        );
                    }
                }
            } else {
                self.unknown(section, name.get_ref(), name.span());
            }
        }
    }

    fn unknown(&mut self, section: &str, name: &str, span: Range<usize>) {
        let here = || {
            KEYS.iter()
                .filter(|k| k.section() == section)
                .map(Key::name)
        };
        let tables = || {
            SECTIONS
                .iter()
                .map(|(s, _)| *s)
                .filter(|_| section.is_empty())
        };
        let elsewhere = KEYS.iter().find(|k| k.name() == name);
        let help = match (closest(name, here().chain(tables())), elsewhere) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, Some(key)) if !key.section().is_empty() => {
                format!("`{name}` stands under [{}]", key.section())
            }
            (None, Some(key)) => format!(
                "`{}` stands at the top of the file, above every table",
                key.path
            ),
            (None, None) => {
                let known: Vec<_> = here().chain(tables()).map(|k| format!("`{k}`")).collect();
                format!("known here: {}", known.join(", "))
            }
        };
        let place = match section {
            "" => "a policy".to_owned(),
            section => format!("[{section}]"),
        };
        self.error(
            span,
            format!("{place} has no key \"{}\"", Text::from(name)),
            help,
        );
    }

    fn key(&mut self, key: &'static Key, at: Range<usize>, item: &Item<'_>) {
        if key.id == KeyId::NetworkAllow {
            self.network = Some(self.source.origin(at.start));
        }
        match key.kind {
            Kind::Mappings | Kind::Variables => self.map(key, item),
            Kind::Inspections => self.inspections(key, item),
            Kind::HttpRules => self.http_rules(key, item),
            Kind::Secrets => self.secrets(key, item),
            Kind::Rules => self.rules(key, RuleKind::Rule, item),
            Kind::Detections => self.rules(key, RuleKind::Detection, item),
            Kind::Bytes
            | Kind::Count
            | Kind::Cpus
            | Kind::Time
            | Kind::Protection
            | Kind::HostPrograms
            | Kind::Beyond => match read::scalar(key.kind, item.get_ref()) {
                Ok(Some(value)) => match read::in_range(key.id, &value) {
                    Ok(()) => self.push(key, value, item.span()),
                    Err(why) => {
                        self.error(item.span(), format!("`{}`: {}", key.path, why.0), why.1);
                    }
                },
                Ok(None) => self.wrong_type(key, item),
                Err(why) => self.error(item.span(), format!("`{}`: {}", key.path, why.0), why.1),
            },
            kind => {
                for (text, span) in self.texts(key, item) {
                    match read::text(kind, &text) {
                        Ok(value) => self.push(key, value, span),
                        Err(why) => self.error(span, why.0, why.1),
                    }
                }
            }
        }
    }

    /// The texts of a list; what is none is reported.
    fn texts(&mut self, key: &'static Key, item: &Item<'_>) -> Vec<(String, Range<usize>)> {
        let DeValue::Array(array) = item.get_ref() else {
            if let DeValue::String(text) = item.get_ref() {
                self.error(
                    item.span(),
                    format!("`{}` is {}, not a text", key.path, key.kind.describe()),
                    format!("write [\"{}\"]", Text::from(text.as_ref())),
                );
            } else {
                self.wrong_type(key, item);
            }
            return Vec::new();
        };
        let mut texts = Vec::new();
        for element in array.iter() {
            match element.get_ref() {
                DeValue::String(text) => texts.push((text.to_string(), element.span())),
                other => {
                    let is = kind_of(other);
                    self.error(
                        element.span(),
                        format!(
                            "`{}` is {} of texts; this is {is}",
                            key.path,
                            key.kind.describe()
                        ),
                        format!("write {} = {}", key.name(), key.example),
                    );
                }
            }
        }
        texts
    }

    fn map(&mut self, key: &'static Key, item: &Item<'_>) {
        let DeValue::Table(table) = item.get_ref() else {
            return self.wrong_type(key, item);
        };
        for (name, value) in in_order(table) {
            let DeValue::String(text) = value.get_ref() else {
                let is = kind_of(value.get_ref());
                self.error(
                    value.span(),
                    format!("a value of `{}` is a text, not {is}", key.path),
                    format!("write {} = {}", key.name(), key.example),
                );
                continue;
            };
            let read = match key.kind {
                Kind::Mappings => read::mapping(name.get_ref(), text),
                Kind::Inspections => read::inspection(name.get_ref(), text),
                _ => read::variable(name.get_ref(), text),
            };
            match read {
                Ok(value) => self.push(key, value, name.span()),
                Err((true, why)) => self.error(name.span(), why.0, why.1),
                Err((false, why)) => self.error(value.span(), why.0, why.1),
            }
        }
    }

    /// A table, or one word for every machine.
    fn inspections(&mut self, key: &'static Key, item: &Item<'_>) {
        match item.get_ref() {
            DeValue::String(word) => match read::inspection("*:*", word) {
                Ok(value) => self.push(key, value, item.span()),
                Err((_, why)) => self.error(item.span(), why.0, why.1),
            },
            _ => self.map(key, item),
        }
    }

    fn http_rules(&mut self, key: &'static Key, item: &Item<'_>) {
        let tables: Vec<_> = match item.get_ref() {
            DeValue::Array(array) => array.iter().collect(),
            _ => return self.wrong_type(key, item),
        };
        for element in tables {
            match element.get_ref() {
                DeValue::Table(table) => self.http_rule(key, table, element.span()),
                _ => self.wrong_type(key, element),
            }
        }
    }

    fn secrets(&mut self, key: &'static Key, item: &Item<'_>) {
        let DeValue::Array(array) = item.get_ref() else {
            return self.wrong_type(key, item);
        };
        for element in array.iter() {
            let DeValue::Table(table) = element.get_ref() else {
                self.wrong_type(key, element);
                continue;
            };
            let at = element.span();
            let first_line = at.start..at.end.min(self.source.line_at(at.start).1.end);
            match secrets::read(table, first_line) {
                Ok(secret) => {
                    let name = table.get("name").map_or(at, Spanned::span);
                    self.push(key, Value::Secret(Box::new(secret)), name);
                }
                Err(found) => {
                    for (span, message, help) in found {
                        self.error(span, message, help);
                    }
                }
            }
        }
    }

    /// Rules with a condition; the engine reads them, so that a pack and a policy say the same.
    fn rules(&mut self, key: &'static Key, kind: RuleKind, item: &Item<'_>) {
        let DeValue::Array(array) = item.get_ref() else {
            return self.wrong_type(key, item);
        };
        if array.len() > MOST_RULES {
            let message = format!("a policy has at most {MOST_RULES} of [[{}]]", key.path);
            return self.error(item.span(), message, "make packs of them");
        }
        let mut mistakes = 0;
        for element in array.iter() {
            // What has so many mistakes is mended in more than one go.
            if mistakes >= MOST_MISTAKES {
                return;
            }
            let DeValue::Table(table) = element.get_ref() else {
                self.wrong_type(key, element);
                continue;
            };
            let at = element.span();
            let first_line = at.start..at.end.min(self.source.line_at(at.start).1.end);
            let source = Arc::clone(self.source);
            let origin = |at: usize| source.origin(at);
            match read_rule(kind, table, first_line, &source.text, &origin) {
                Ok(compiled) => {
                    if let Err(message) = self.memory.add(compiled.memory(), "a file") {
                        return self.error(at, message, LESS_MEMORY);
                    }
                    let rule = Box::new(compiled.rule().clone());
                    let id = table.get("id").map_or(at, Spanned::span);
                    if rule.effect.action().is_some()
                        && let Err((message, help)) = asks(rule.on)
                    {
                        let on = table.get("on").map_or(id, Spanned::span);
                        self.error(on, message, help);
                        continue;
                    }
                    let when = table.get("when").map_or(id.clone(), Spanned::span);
                    for warning in warnings_of(&compiled, &when, &source.text) {
                        let Mistake {
                            span,
                            message,
                            help,
                        } = warning;
                        self.found
                            .push(Diagnostic::warning(&source, span, message, help));
                    }
                    self.push(key, Value::Rule(rule), id);
                }
                Err(found) => {
                    mistakes += found.len();
                    for mistake in found {
                        self.error(mistake.span, mistake.message, mistake.help);
                    }
                }
            }
        }
    }

    fn http_rule(&mut self, key: &'static Key, table: &DeTable<'_>, at: Range<usize>) {
        let mut host = None;
        let mut rule_at = at.clone();
        let (mut methods, mut paths) = (Vec::new(), Vec::new());
        let before = self.found.len();
        for (name, item) in in_order(table) {
            let Some(sub) = HTTP_KEYS
                .iter()
                .find(|k| k.name() == name.get_ref().as_ref())
            else {
                let near = closest(name.get_ref(), HTTP_KEYS.iter().map(Key::name));
                let help = near.map_or_else(
                    || "known here: `host`, `methods`, `paths`".to_owned(),
                    |n| format!("did you mean `{n}`?"),
                );
                self.error(
                    name.span(),
                    format!(
                        "[[network.http]] has no key \"{}\"",
                        Text::from(name.get_ref().as_ref())
                    ),
                    help,
                );
                continue;
            };
            if sub.kind == Kind::Host {
                let DeValue::String(text) = item.get_ref() else {
                    self.wrong_type(sub, item);
                    continue;
                };
                rule_at = item.span();
                match read::text(Kind::Hosts { sets: false }, text) {
                    Ok(Value::Host(pattern)) => host = Some(pattern),
                    Ok(_) => {}
                    Err(why) => self.error(item.span(), why.0, why.1),
                }
                continue;
            }
            let list = if sub.kind == Kind::Methods {
                &mut methods
            } else {
                &mut paths
            };
            let mut values = Vec::new();
            for (text, span) in self.texts(sub, item) {
                match read::text(sub.kind, &text) {
                    Ok(_) => values.push(text),
                    Err(why) => self.error(span, why.0, why.1),
                }
            }
            if values.is_empty() && self.found.len() == before {
                self.error(
                    item.span(),
                    format!("`{}` is empty: the rule would cover nothing", sub.path),
                    format!(
                        "write {} = {}, or leave the key out for all",
                        sub.name(),
                        sub.example
                    ),
                );
            }
            *list = values;
        }
        match host {
            Some(host) => self.push(
                key,
                Value::Http(HttpRule {
                    host,
                    methods,
                    paths,
                }),
                rule_at,
            ),
            None if self.found.len() == before => {
                let first_line = at.start..at.end.min(self.source.line_at(at.start).1.end);
                self.error(
                    first_line,
                    "an http rule needs a `host`",
                    "add host = \"api.example.com\"",
                );
            }
            None => {}
        }
    }
}

/// A value's type in words.
fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
