//! What a rule was true of: the fields that it asked for and their values, short and without any
//! credential, and a signature by which equal findings are known.

use crate::eval::{Value, secrets, slot_value};
use crate::rule::{Compiled, Confidence, Effect, Severity};
use bailiwick_event::fields::{Field, Slot, Subject};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Characters of a value that are kept.
const LONGEST: usize = 200;

/// Headers whose value is a credential by what they are for.
const SECRET_HEADERS: [&str; 5] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
];

/// A field that a rule asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchedField {
    /// Its name.
    pub field: Cow<'static, str>,
    /// Its value, short; a credential in it is told by its kind alone.
    pub value: String,
}

/// That a rule was true of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's name.
    pub rule: String,
    /// The pack that the rule came with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack: Option<Arc<str>>,
    /// How bad it is; none for a rule that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// How sure it is; none for a rule that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Why, in one clause.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The same for findings of one rule on the same values: 32 hexadecimal digits.
    pub signature: String,
    /// What the rule asked for.
    pub fields: Vec<MatchedField>,
}

impl Finding {
    /// What a rule found in an event.
    #[must_use]
    pub fn new(rule: &Compiled, subject: &Subject<'_>) -> Self {
        let (severity, confidence) = match rule.rule().effect {
            Effect::Detect {
                severity,
                confidence,
            } => (Some(severity), Some(confidence)),
            Effect::Enforce { .. } => (None, None),
        };
        Self {
            rule: rule.rule().id.clone(),
            pack: rule.rule().pack.clone(),
            severity,
            confidence,
            reason: rule.rule().reason.clone(),
            signature: hex(signature(rule, subject)),
            fields: matched(rule.fields(), subject),
        }
    }
}

/// The fields that a condition asked for and that the event has.
pub(crate) fn matched(fields: &[Field], subject: &Subject<'_>) -> Vec<MatchedField> {
    let one = |field: &Field| {
        let value = show(subject.get(*field))?;
        let field = Cow::Borrowed(field.info().path);
        Some(MatchedField { field, value })
    };
    fields.iter().filter_map(one).collect()
}

/// What is equal for findings of one rule on the same values.
pub(crate) fn signature(rule: &Compiled, subject: &Subject<'_>) -> u128 {
    signature_of(&rule.rule().id, rule.fields(), subject)
}

/// The same of a name and the fields that a condition asked for.
pub(crate) fn signature_of(id: &str, fields: &[Field], subject: &Subject<'_>) -> u128 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(id.as_bytes());
    for field in fields {
        // The length stands before each value, so that no value can pass for two.
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(&[*field as u8]);
        match subject.get(*field) {
            Slot::Absent => {}
            Slot::Text(text) => add(text.as_bytes()),
            Slot::Int(n) | Slot::Time(n) => add(&n.to_le_bytes()),
            Slot::Double(n) => add(&n.to_le_bytes()),
            Slot::Bool(yes) => add(&[u8::from(yes)]),
            Slot::Texts(all) => all.iter().for_each(|text| add(text.as_bytes())),
            Slot::Pairs(all) => all.iter().for_each(|(name, value)| {
                add(name.as_bytes());
                add(value.as_bytes());
            }),
            Slot::Headers(headers) => headers.0.iter().for_each(|(name, value)| {
                add(name.as_bytes());
                add(value.as_bytes());
            }),
            Slot::Tree(tree) => add(tree.to_string().as_bytes()),
        }
    }
    let mut first = [0; 16];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    u128::from_be_bytes(first)
}

pub(crate) fn hex(signature: u128) -> String {
    format!("{signature:032x}")
}

/// A value for a person and for the record.
pub(crate) fn show(slot: Slot<'_>) -> Option<String> {
    if let Slot::Headers(headers) = slot {
        let one = |name: &str, value: &str| match is_secret_header(name) {
            true => format!("{name}: ({} bytes)", value.len()),
            false => format!("{name}: {}", masked(value)),
        };
        let all: Vec<_> = headers
            .0
            .iter()
            .map(|(name, value)| one(name, value))
            .collect();
        return Some(short(&all.join("; ")));
    }
    slot_value(slot).map(|value| show_value(&value))
}

/// Whether a header's value is a credential by what it is for.
pub(crate) fn is_secret_header(name: &str) -> bool {
    SECRET_HEADERS
        .iter()
        .any(|secret| secret.eq_ignore_ascii_case(name))
}

/// A value for a person and for the record.
pub(crate) fn show_value(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => short(&masked(text)),
        value => short(&masked(&value.to_json().to_string())),
    }
}

/// A text in which a credential stands is told by the kinds alone: where it ends is not certain.
fn masked(text: &str) -> Cow<'_, str> {
    match secrets::find(text) {
        kinds if kinds.is_empty() => text.into(),
        kinds => format!("({} bytes with {})", text.len(), kinds.join(", ")).into(),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
