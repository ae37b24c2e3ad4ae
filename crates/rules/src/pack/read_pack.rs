//! A pack: rules that belong together, with a version.

use super::lines::Lines;
use super::read_rule::{Mistake, RuleKind, is_id, read_rule, warnings_of};
use crate::rule::{Compiled, LESS_MEMORY, Memory};
use bailiwick_event::Origin;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// How far a pack can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Status {
    Experimental,
    Stable,
    Deprecated,
}

impl Status {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Experimental, "experimental"),
        (Self::Stable, "stable"),
        (Self::Deprecated, "deprecated"),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// Rules that belong together.
#[derive(Clone, Debug)]
pub struct Pack {
    /// Its name.
    pub id: Arc<str>,
    /// Its version: `1.2.0`.
    pub version: String,
    /// How far it can be relied on.
    pub status: Status,
    /// Who answers for it.
    pub owner: String,
    /// What it is for.
    pub description: String,
    /// Its rules and detections, compiled.
    pub rules: Vec<Arc<Compiled>>,
    /// What is allowed and hardly meant, each with its line and column from 1.
    pub warnings: Vec<(u32, u32, Mistake)>,
}

/// Why a file is no pack: every mistake in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackError {
    /// The file as the user knows it.
    pub file: String,
    /// The mistakes, each with its line and column from 1.
    pub mistakes: Vec<(u32, u32, Mistake)>,
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (line, column, mistake)) in self.mistakes.iter().enumerate() {
            f.write_str(if n > 0 { "\n" } else { "" })?;
            write!(f, "{}:{line}:{column}: {}", self.file, mistake.message)?;
            if !mistake.help.is_empty() {
                write!(f, "; {}", mistake.help)?;
            }
        }
        Ok(())
    }
}
impl std::error::Error for PackError {}

/// Bytes of the largest pack.
const LARGEST: usize = 8 << 20;

/// Rules, and detections, of the largest file.
const MOST_RULES: usize = 2_000;
/// Mistakes that are told at once.
const MOST_MISTAKES: usize = 100;

/// The schema that this reads.
const SCHEMA: &str = "1";

impl Pack {
    /// Reads a pack; `file` is what messages call it.
    ///
    /// # Errors
    /// [`PackError`] with every mistake, each with its place.
    pub fn read(file: &str, text: &str) -> Result<Self, PackError> {
        Self::with(file, text, Reader::pack)
    }

    /// Reads a file that may be a pack; none where it is a policy, which says neither a schema nor
    /// a version.
    ///
    /// # Errors
    /// As [`Pack::read`].
    pub fn of_file(file: &str, text: &str) -> Result<Option<Self>, PackError> {
        Self::with(file, text, |reader, table| {
            match table.contains_key("schema") || table.contains_key("version") {
                true => reader.pack(table).map(Some),
                false => Some(None),
            }
        })
    }

    fn with<'a, T>(
        file: &'a str,
        text: &'a str,
        read: fn(&mut Reader<'a>, &DeTable<'a>) -> Option<T>,
    ) -> Result<T, PackError> {
        let mut reader = Reader {
            file,
            text,
            lines: Lines::of(text),
            memory: Memory::default(),
            found: Vec::new(),
            warnings: Vec::new(),
        };
        let table = reader.table();
        let read = table.and_then(|table| read(&mut reader, table.get_ref()));
        match read {
            Some(read) if reader.found.is_empty() => Ok(read),
            _ => Err(PackError {
                file: file.to_owned(),
                mistakes: placed(&reader.lines, reader.found),
            }),
        }
    }
}

/// What was found, in the order of the file.
fn placed(lines: &Lines<'_>, mut found: Vec<Mistake>) -> Vec<(u32, u32, Mistake)> {
    found.sort_by_key(|mistake| mistake.span.start);
    let one = |mistake: Mistake| {
        let (line, column) = lines.place(mistake.span.start);
        (line, column, mistake)
    };
    found.into_iter().map(one).collect()
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    lines: Lines<'a>,
    memory: Memory,
    found: Vec<Mistake>,
    warnings: Vec<Mistake>,
}

const KEYS: [&str; 8] = [
    "schema",
    "id",
    "version",
    "status",
    "owner",
    "description",
    "rules",
    "detections",
];

impl<'a> Reader<'a> {
    fn error(&mut self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.found.push(Mistake {
            span,
            message: message.into(),
            help: help.into(),
        });
    }

    fn text(
        &mut self,
        table: &DeTable<'_>,
        name: &str,
        example: &str,
    ) -> Option<(String, Range<usize>)> {
        match table.get(name) {
            Some(item) => match item.get_ref() {
                DeValue::String(text) => Some((text.to_string(), item.span())),
                _ => {
                    self.error(
                        item.span(),
                        format!("`{name}` is a text"),
                        format!("write {name} = {example}"),
                    );
                    None
                }
            },
            None => {
                self.error(
                    0..0,
                    format!("a pack needs `{name}`"),
                    format!("add {name} = {example} at the top"),
                );
                None
            }
        }
    }

    /// The file's table; what is none is reported.
    fn table(&mut self) -> Option<Spanned<DeTable<'a>>> {
        if self.text.len() > LARGEST {
            self.error(
                0..0,
                format!("a pack has at most {LARGEST} bytes"),
                "make several of it",
            );
            return None;
        }
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            let message = bailiwick_event::Text::from(error.message()).to_string();
            self.error(error.span().unwrap_or(0..0), message, "");
        }
        self.found.is_empty().then_some(table)
    }

    fn pack(&mut self, table: &DeTable<'a>) -> Option<Pack> {
        for (name, _) in table
            .iter()
            .filter(|(name, _)| !KEYS.contains(&&**name.get_ref()))
        {
            self.error(
                name.span(),
                format!("a pack has no key {:?}", name.get_ref()),
                format!("known here: {}", KEYS.join(", ")),
            );
        }
        match table
            .get("schema")
            .map(|item| (item.get_ref(), item.span()))
        {
            Some((DeValue::Integer(n), _)) if n.as_str() == SCHEMA => {}
            Some((_, span)) => self.error(
                span,
                "this version reads packs of schema 1",
                "write schema = 1, or update bailiwick",
            ),
            None => self.error(0..0, "a pack needs `schema`", "add schema = 1 at the top"),
        }
        let id = self.text(table, "id", "\"team-rules\"");
        if let Some((id, span)) = id.as_ref().filter(|(id, _)| !is_id(id)) {
            self.error(
                span.clone(),
                format!("{id:?} is no name of a pack"),
                "use small letters, digits, - _ and .",
            );
        }
        let version = self.text(table, "version", "\"1.0.0\"");
        if let Some((version, span)) = version.as_ref().filter(|(version, _)| !is_version(version))
        {
            self.error(
                span.clone(),
                format!("{version:?} is no version"),
                "write three numbers: \"1.0.0\"",
            );
        }
        let status = self
            .text(table, "status", "\"stable\"")
            .and_then(|(name, span)| {
                let found = Status::ALL
                    .iter()
                    .find(|(_, n)| *n == name)
                    .map(|(status, _)| *status);
                if found.is_none() {
                    self.error(
                        span,
                        format!("{name:?} is no status"),
                        "write experimental, stable or deprecated",
                    );
                }
                found
            });
        let owner = self.text(table, "owner", "\"Team Security\"");
        let description = match table.contains_key("description") {
            true => self
                .text(table, "description", "\"…\"")
                .map(|(text, _)| text),
            false => Some(String::new()),
        };
        let name: Arc<str> = id.map(|(id, _)| id).unwrap_or_default().into();
        let mut rules = Vec::new();
        for kind in [RuleKind::Rule, RuleKind::Detection] {
            self.rules(kind, table, Some(&name), &mut rules);
        }
        Some(Pack {
            id: name,
            version: version?.0,
            status: status?,
            owner: owner?.0,
            description: description?,
            rules,
            warnings: placed(&self.lines, std::mem::take(&mut self.warnings)),
        })
    }

    fn rules(
        &mut self,
        kind: RuleKind,
        table: &DeTable<'_>,
        pack: Option<&Arc<str>>,
        rules: &mut Vec<Arc<Compiled>>,
    ) {
        let Some(item) = table.get(kind.table()) else {
            return;
        };
        let Some(all) = item.get_ref().as_array() else {
            let message = format!("`{}` is a list of tables", kind.table());
            return self.error(item.span(), message, format!("write [[{}]]", kind.table()));
        };
        if all.len() > MOST_RULES {
            let message = format!("a file has at most {MOST_RULES} of [[{}]]", kind.table());
            return self.error(item.span(), message, "make several files of it");
        }
        for item in all.iter() {
            // What has so many mistakes is mended in more than one go.
            if self.found.len() >= MOST_MISTAKES || self.memory.is_over() {
                break;
            }
            self.rule(kind, item, pack, rules);
        }
    }

    fn rule(
        &mut self,
        kind: RuleKind,
        item: &Spanned<DeValue<'_>>,
        pack: Option<&Arc<str>>,
        rules: &mut Vec<Arc<Compiled>>,
    ) {
        let Some(table) = item.get_ref().as_table() else {
            let message = format!("`{}` is a list of tables", kind.table());
            return self.error(item.span(), message, format!("write [[{}]]", kind.table()));
        };
        let origin = |at: usize| {
            let (line, column) = self.lines.place(at);
            Origin::new(self.file, line, column)
        };
        match read_rule(kind, table, item.span(), self.text, &origin) {
            Ok(compiled) => {
                let id = &compiled.rule().id;
                if let Some(first) = rules.iter().find(|rule| rule.rule().id == *id) {
                    let message = format!(
                        "{id:?} is the name of the rule at {} too",
                        first.rule().origin
                    );
                    return self.error(item.span(), message, "give one of them another name");
                }
                if let Err(message) = self.memory.add(compiled.memory(), "a file") {
                    return self.error(item.span(), message, LESS_MEMORY);
                }
                self.warn(&compiled, table, item.span());
                let mut rule = compiled.rule().clone();
                rule.pack = pack.cloned();
                rules.push(Arc::new(compiled.with_rule(rule)));
            }
            Err(found) => self.found.extend(found),
        }
    }
}

impl Reader<'_> {
    fn warn(&mut self, rule: &Compiled, table: &DeTable<'_>, at: Range<usize>) {
        let when = table.get("when").map_or(at, Spanned::span);
        self.warnings.extend(warnings_of(rule, &when, self.text));
    }
}

fn is_version(text: &str) -> bool {
    let number = |part: &str| {
        !part.is_empty() && part.len() < 10 && part.bytes().all(|b| b.is_ascii_digit())
    };
    text.split('.').count() == 3 && text.split('.').all(number)
}
