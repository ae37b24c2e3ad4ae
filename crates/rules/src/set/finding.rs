//! A finding as it is recorded: the fields that a rule asked for and their values, short and
//! without any credential, and a signature by which equal findings are known.

use crate::eval::{Value, secrets};
use crate::rule::{Confidence, Severity};
use bailiwick_event::MatchedField;
use bailiwick_event::fields::{Field, FieldType};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Characters of a value that are shown.
const LONGEST: usize = 200;

/// Headers whose value is shown. That of any other may be a credential of a shape that nobody
/// knows, and is told by its length.
const PLAIN_HEADERS: [&str; 10] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

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

/// A field's value in one line; each part is a text and whether it was cut. None where the event
/// had no value.
pub(super) fn show_values(field: Field, parts: &[(String, bool)]) -> Option<String> {
    let value = |part: &(String, bool)| match part.1 {
        true => format!("{}…", masked(&part.0)),
        false => masked(&part.0).into_owned(),
    };
    let shown = match field.info().ty {
        FieldType::Headers | FieldType::Pairs => {
            let pair = |pair: &[(String, bool)]| match pair {
                [name, sent] if is_plain(field, &name.0) => format!("{}: {}", name.0, value(sent)),
                [name, sent] => format!("{}: ({} bytes)", name.0, sent.0.len()),
                _ => String::new(),
            };
            let all: Vec<_> = parts.chunks(2).map(pair).collect();
            all.join("; ")
        }
        FieldType::Texts => {
            let all: Vec<_> = parts
                .iter()
                .map(|part| format!("{:?}", value(part)))
                .collect();
            format!("[{}]", all.join(", "))
        }
        // A body is kept by who asks for that, and not by who asks about it.
        _ if is_body(field) => sizes(parts.first()?),
        _ => value(parts.first()?),
    };
    (!parts.is_empty()).then(|| short(&shown))
}

/// Whether a header's value may be a credential: every one whose value is not plain by what it is
/// for.
pub(crate) fn is_secret_header(name: &str) -> bool {
    !PLAIN_HEADERS
        .iter()
        .any(|plain| plain.eq_ignore_ascii_case(name))
}

/// A value for a person and for the record.
pub(crate) fn show_value(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => short(&masked(text)),
        value => short(&masked(&value.to_json().to_string())),
    }
}

/// How much a text is, and of which kinds the credentials in it are.
fn sizes((text, cut): &(String, bool)) -> String {
    let more = if *cut { "more than " } else { "" };
    match secrets::find(text) {
        kinds if kinds.is_empty() => format!("({more}{} bytes)", text.len()),
        kinds => format!("({more}{} bytes with {})", text.len(), kinds.join(", ")),
    }
}

/// Whether a field is what a message carries.
fn is_body(field: Field) -> bool {
    matches!(
        field,
        Field::HttpBodyText | Field::HttpResponseText | Field::ModelText | Field::ModelResponseText
    )
}

fn is_plain(field: Field, name: &str) -> bool {
    field.info().ty != FieldType::Headers || !is_secret_header(name)
}

/// A text in which a credential stands is told by the kinds alone: where it ends is not certain.
#[must_use]
pub fn masked(text: &str) -> Cow<'_, str> {
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
