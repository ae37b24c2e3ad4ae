//! One rule from its table.

use super::keys::{DETECTION_KEYS, RULE_KEYS, RuleKey};
use super::places::places;
use super::toml_json::to_json;
use crate::expr::SyntaxError;
use crate::rule::{Action, Compiled, Confidence, Effect, Example, Rewrite, Rule, Severity};
use bailiwick_event::Origin;
use bailiwick_event::fields::EventType;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// `[[rules]]`: it decides.
    Rule,
    /// `[[detections]]`: it reports.
    Detection,
}

impl RuleKind {
    /// The table's name.
    #[must_use]
    pub fn table(self) -> &'static str {
        match self {
            Self::Rule => "rules",
            Self::Detection => "detections",
        }
    }

    /// The keys of the table.
    #[must_use]
    pub fn keys(self) -> &'static [RuleKey] {
        match self {
            Self::Rule => RULE_KEYS,
            Self::Detection => DETECTION_KEYS,
        }
    }
}

/// A mistake in a file of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The bytes of the file that are meant.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// How to mend it; may be empty.
    pub help: String,
}

type Item<'a> = Spanned<DeValue<'a>>;

/// Reads a rule from its table, which stands at `at` in the file's text, and compiles it.
/// `origin` says which line a byte of the file is on.
///
/// # Errors
/// Every [`Mistake`] in it.
pub fn read_rule(
    kind: RuleKind,
    table: &DeTable<'_>,
    at: Range<usize>,
    text: &str,
    origin: &dyn Fn(usize) -> Origin,
) -> Result<Compiled, Vec<Mistake>> {
    let mut reader = Reader {
        kind,
        found: Vec::new(),
    };
    let read = reader.rule(table, &at, text, origin);
    match read {
        Some(compiled) if reader.found.is_empty() => Ok(compiled),
        _ => Err(reader.found),
    }
}

/// What is allowed in a rule that [`read_rule`] read and hardly meant; `when` is where the
/// condition's text stands in the file.
#[must_use]
pub fn warnings_of(compiled: &Compiled, when: &Range<usize>, file: &str) -> Vec<Mistake> {
    let warnings = compiled.warnings();
    if warnings.is_empty() {
        return Vec::new();
    }
    let places = places(file, when, &compiled.rule().when);
    let placed = warnings.into_iter();
    placed
        .map(|wrong| placed_in_file(wrong, places.as_deref(), when))
        .collect()
}

/// A mistake in a condition as one in the file.
fn placed_in_file(wrong: SyntaxError, places: Option<&[usize]>, when: &Range<usize>) -> Mistake {
    let Range { start, end } = wrong.span.range();
    let place = |at: usize| places?.get(at).copied();
    let span = match (place(start), place(end)) {
        (Some(start), Some(end)) => start..end,
        _ => when.clone(),
    };
    Mistake {
        span,
        message: wrong.message,
        help: wrong.help,
    }
}

struct Reader {
    kind: RuleKind,
    found: Vec<Mistake>,
}

/// The nearest of some names, for a help.
fn one_of<T: Copy>(name: &str, all: &[(T, &'static str)]) -> Result<T, String> {
    let found = all.iter().find(|(_, n)| *n == name);
    found.map(|(value, _)| *value).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|(_, n)| *n).collect();
        format!("write one of {}", names.join(", "))
    })
}

/// Whether a text can be shown as it is: no control character, none that hides or turns text.
fn is_plain(text: &str) -> bool {
    text.chars().all(bailiwick_event::harmless)
}

/// Whether a text is a rule's name.
pub(super) fn is_id(text: &str) -> bool {
    let plain =
        |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'.');
    !text.is_empty() && text.len() <= 128 && text.bytes().all(plain)
}

impl Reader {
    fn error(&mut self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.found.push(Mistake {
            span,
            message: message.into(),
            help: help.into(),
        });
    }

    fn item<'t, 'i>(&self, table: &'t DeTable<'i>, name: &str) -> Option<&'t Item<'i>> {
        table.get(name)
    }

    fn wrong_type(&mut self, name: &str, item: &Item<'_>) {
        let key = self.kind.keys().iter().find(|key| key.name == name);
        let (kind, example) = key.map_or(("", ""), |key| (key.kind, key.example));
        self.error(
            item.span(),
            format!("`{name}` is {kind}"),
            format!("write {name} = {example}"),
        );
    }

    fn text<'t>(&mut self, table: &'t DeTable<'_>, name: &str) -> Option<(&'t str, Range<usize>)> {
        let item = self.item(table, name)?;
        match item.get_ref() {
            DeValue::String(text) if name == "when" || is_plain(text) => Some((text, item.span())),
            DeValue::String(_) => {
                let message = format!("`{name}` has a character in it that a terminal would obey");
                self.error(
                    item.span(),
                    message,
                    "remove control and direction characters",
                );
                None
            }
            _ => {
                self.wrong_type(name, item);
                None
            }
        }
    }

    fn rule(
        &mut self,
        table: &DeTable<'_>,
        at: &Range<usize>,
        file: &str,
        origin: &dyn Fn(usize) -> Origin,
    ) -> Option<Compiled> {
        self.names(table, at);
        let (id, id_at) = self.text(table, "id")?;
        if !is_id(id) {
            self.error(
                id_at.clone(),
                format!("{id:?} is no name of a rule"),
                "use small letters, digits, - _ and .",
            );
        }
        let on = self.text(table, "on").and_then(|(name, span)| {
            let on = EventType::named(name);
            if on.is_none() {
                let names: Vec<_> = EventType::ALL.iter().map(|ty| ty.name()).collect();
                let message = format!("no event has the type {name:?}");
                self.error(span, message, format!("the types are {}", names.join(", ")));
            }
            on
        });
        let effect = self.effect(table);
        let (when, when_at) = self.text(table, "when")?;
        let (on, effect) = (on?, effect?);
        let mut rule = Rule::new(id, on, when, effect);
        rule.origin = origin(id_at.start);
        rule.reason = self
            .text(table, "reason")
            .map(|(text, _)| text.to_owned())
            .unwrap_or_default();
        rule.tags = self.texts(table, "tags");
        rule.priority = self.whole(table, "priority").unwrap_or(0);
        rule.enabled = self.truth(table, "enabled").unwrap_or(true);
        rule.expires = self.time(table);
        rule.examples = self.examples(table, on);
        match Compiled::new(rule) {
            Ok(compiled) => Some(compiled),
            Err(error) => {
                if error.condition.is_empty() {
                    self.error(id_at, error.message, "");
                }
                let places = places(file, &when_at, when);
                let placed = error.condition.into_iter();
                self.found
                    .extend(placed.map(|wrong| placed_in_file(wrong, places.as_deref(), &when_at)));
                None
            }
        }
    }

    /// Every key is one of the table's, and none that is needed is missing.
    fn names(&mut self, table: &DeTable<'_>, at: &Range<usize>) {
        let kind = self.kind;
        for (name, _) in table.iter() {
            if kind.keys().iter().any(|key| key.name == name.get_ref()) {
                continue;
            }
            let known: Vec<_> = kind.keys().iter().map(|key| key.name).collect();
            let message = format!("[[{}]] has no key {:?}", kind.table(), name.get_ref());
            self.error(
                name.span(),
                message,
                format!("known here: {}", known.join(", ")),
            );
        }
        for key in kind
            .keys()
            .iter()
            .filter(|key| key.needed && !table.contains_key(key.name))
        {
            let message = format!("a table of [[{}]] needs `{}`", kind.table(), key.name);
            self.error(
                at.clone(),
                message,
                format!("add {} = {}", key.name, key.example),
            );
        }
    }

    fn effect(&mut self, table: &DeTable<'_>) -> Option<Effect> {
        match self.kind {
            RuleKind::Rule => {
                let action = self.choice(table, "action", &Action::ALL)?;
                let remedy = self.text(table, "remedy").map(|(text, _)| text.to_owned());
                Some(Effect::Enforce {
                    action,
                    remedy: remedy.unwrap_or_default(),
                    rewrites: self.rewrites(table),
                })
            }
            RuleKind::Detection => {
                let severity = self.choice(table, "severity", &Severity::ALL)?;
                let confidence = match table.contains_key("confidence") {
                    true => self.choice(table, "confidence", &Confidence::ALL)?,
                    false => Confidence::Medium,
                };
                Some(Effect::Detect {
                    severity,
                    confidence,
                })
            }
        }
    }

    fn choice<T: Copy>(
        &mut self,
        table: &DeTable<'_>,
        name: &str,
        all: &[(T, &'static str)],
    ) -> Option<T> {
        let (text, span) = self.text(table, name)?;
        match one_of(text, all) {
            Ok(value) => Some(value),
            Err(help) => {
                self.error(span, format!("{text:?} is no {name}"), help);
                None
            }
        }
    }

    fn texts(&mut self, table: &DeTable<'_>, name: &str) -> Vec<String> {
        let Some(item) = self.item(table, name) else {
            return Vec::new();
        };
        let texts: Option<Vec<_>> = item.get_ref().as_array().and_then(|all| {
            let plain = |text: &&str| is_plain(text);
            let text = |item: &Item<'_>| item.get_ref().as_str().filter(plain).map(str::to_owned);
            all.iter().map(text).collect()
        });
        texts.unwrap_or_else(|| {
            self.wrong_type(name, item);
            Vec::new()
        })
    }

    fn whole(&mut self, table: &DeTable<'_>, name: &str) -> Option<i64> {
        let item = self.item(table, name)?;
        let number = match item.get_ref() {
            DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok(),
            _ => None,
        };
        if number.is_none() {
            self.wrong_type(name, item);
        }
        number
    }

    fn truth(&mut self, table: &DeTable<'_>, name: &str) -> Option<bool> {
        let item = self.item(table, name)?;
        let yes = item.get_ref().as_bool();
        if yes.is_none() {
            self.wrong_type(name, item);
        }
        yes
    }

    fn time(&mut self, table: &DeTable<'_>) -> Option<i64> {
        let item = self.item(table, "expires")?;
        let seconds = match item.get_ref() {
            DeValue::Datetime(time) => {
                let text = match (time.date, time.time, time.offset) {
                    (Some(date), None, None) => Some(format!("{date}T00:00:00Z")),
                    (Some(_), Some(_), Some(_)) => Some(time.to_string()),
                    _ => None,
                };
                let nanos = text.and_then(|text| crate::eval::time::parse_timestamp(&text).ok());
                nanos.and_then(|nanos| i64::try_from(nanos.div_euclid(1_000_000_000)).ok())
            }
            _ => None,
        };
        if seconds.is_none() {
            let help = "write expires = 2027-01-31, or 2027-01-31T12:00:00Z";
            self.error(
                item.span(),
                "`expires` is a date, or a time with its offset",
                help,
            );
        }
        seconds
    }

    fn rewrites(&mut self, table: &DeTable<'_>) -> Vec<Rewrite> {
        let mut rewrites = Vec::new();
        for item in self.tables(table, "rewrite") {
            let json = to_json(item.get_ref());
            let read =
                json.and_then(|json| serde_json::from_value(json).map_err(|e| e.to_string()));
            match read {
                Ok(rewrite) => rewrites.push(rewrite),
                Err(why) => {
                    let help = "write { strip_header = \"cookie\" }, { set_header = { name, value } } or { replace = { target, pattern, with } }";
                    self.error(item.span(), format!("`rewrite`: {why}"), help);
                }
            }
        }
        rewrites
    }

    fn tables<'t, 'i>(&mut self, table: &'t DeTable<'i>, name: &str) -> Vec<&'t Item<'i>> {
        let Some(item) = table.get(name) else {
            return Vec::new();
        };
        let all = item.get_ref().as_array();
        match all.filter(|all| all.iter().all(|item| item.get_ref().is_table())) {
            Some(all) => all.iter().collect(),
            None => {
                self.wrong_type(name, item);
                Vec::new()
            }
        }
    }

    fn examples(&mut self, table: &DeTable<'_>, on: EventType) -> Vec<Example> {
        let mut examples = Vec::new();
        for item in self.tables(table, "examples") {
            let fields = item.get_ref().as_table();
            let matches = fields.and_then(|t| t.get("matches")?.get_ref().as_bool());
            let event = fields.and_then(|t| t.get("event"));
            let only = fields.is_some_and(|t| t.len() == 2);
            let (Some(matches), Some(event), true) = (matches, event, only) else {
                let help = "write { matches = true, event = { … } }";
                self.error(item.span(), "an example has `matches` and `event`", help);
                continue;
            };
            let read = to_json(event.get_ref()).and_then(|json| {
                let example = Example::new(matches, json, on);
                example.record().map(|_| ()).map_err(|e| e.to_string())?;
                Ok(example)
            });
            match read {
                Ok(example) => examples.push(example),
                Err(why) => self.error(event.span(), format!("the example's event: {why}"), ""),
            }
        }
        examples
    }
}
