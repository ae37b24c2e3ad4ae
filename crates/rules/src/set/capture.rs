//! What a rule was true of, as it was at that moment: the values are copied while the event is
//! there, and made fit for the record (short, without credentials, with a signature) only when
//! they are written. What decides must not wait for what is written.

use super::finding::{Finding, show_values};
use crate::rule::{Compiled, Effect};
use bailiwick_event::MatchedField;
use bailiwick_event::fields::{Field, Headers, Slot, Subject};
use std::borrow::Cow;
use std::sync::Arc;

/// Parts of a list that are copied; of a longer one the hash of the rest stands for it.
const MOST_PARTS: usize = 64;

/// Bytes of a value that are copied; of a longer one its hash stands for the rest.
const LONGEST: usize = 1024;

/// A rule that was true, and the values that it asked for.
#[derive(Clone, Debug)]
pub struct Match {
    rule: Arc<Compiled>,
    /// The values one after the other, each in parts with its length before it.
    bytes: Vec<u8>,
}

impl Match {
    /// What a rule was true of.
    #[must_use]
    pub fn new(rule: &Arc<Compiled>, subject: &Subject<'_>) -> Self {
        Self {
            rule: Arc::clone(rule),
            bytes: capture(Asked::by(rule), subject),
        }
    }

    /// The rule.
    #[must_use]
    pub fn rule(&self) -> &Arc<Compiled> {
        &self.rule
    }

    /// The same for equal values of one rule.
    #[must_use]
    pub fn signature(&self) -> u128 {
        sign(&self.rule.rule().id, &self.bytes)
    }

    /// The fields and their values, for a person and for the record.
    #[must_use]
    pub fn fields(&self) -> Vec<MatchedField> {
        shown(self.rule.fields(), &self.bytes)
    }

    /// The finding: what is recorded of it.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let (severity, confidence) = match self.rule.rule().effect {
            Effect::Detect {
                severity,
                confidence,
            } => (Some(severity), Some(confidence)),
            Effect::Enforce { .. } => (None, None),
        };
        Finding {
            rule: self.rule.rule().id.clone(),
            pack: self.rule.rule().pack.clone(),
            severity,
            confidence,
            reason: self.rule.rule().reason.clone(),
            signature: hex(self.signature()),
            fields: self.fields(),
        }
    }
}

/// A signature as it is written.
pub(crate) fn hex(signature: u128) -> String {
    format!("{signature:032x}")
}

/// The fields that a condition asked for and that an event has, for a person and for the record.
pub(crate) fn matched(asked: Asked<'_>, subject: &Subject<'_>) -> Vec<MatchedField> {
    shown(asked.fields, &capture(asked, subject))
}

/// The value of a field, for a person and for the record.
pub(crate) fn show(field: Field, subject: &Subject<'_>) -> Option<String> {
    let asked = Asked {
        fields: &[field],
        headers: None,
    };
    let shown = matched(asked, subject);
    shown.into_iter().next().map(|field| field.value)
}

/// What is equal for equal values of the fields that a condition of that name asked for.
pub(crate) fn signature_of(id: &str, asked: Asked<'_>, subject: &Subject<'_>) -> u128 {
    sign(id, &capture(asked, subject))
}

/// What a condition asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'c> {
    pub(crate) fields: &'c [Field],
    /// The headers, in lower case; none where it may look at all of them.
    pub(crate) headers: Option<&'c [Box<str>]>,
}

impl<'c> Asked<'c> {
    /// What a rule's condition asks for.
    pub(crate) fn by(rule: &'c Compiled) -> Self {
        Self {
            fields: rule.fields(),
            headers: rule.headers(),
        }
    }
}

fn capture(asked: Asked<'_>, subject: &Subject<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    for field in asked.fields {
        let mut value = Writer {
            bytes: &mut bytes,
            field: *field,
            headers: asked.headers,
        };
        value.slot(subject.get(*field));
    }
    bytes
}

fn sign(id: &str, bytes: &[u8]) -> u128 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(id.as_bytes());
    hasher.update(&[0]);
    hasher.update(bytes);
    let mut first = [0; 16];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    u128::from_be_bytes(first)
}

fn shown(fields: &[Field], bytes: &[u8]) -> Vec<MatchedField> {
    let mut shown = Vec::new();
    let mut rest = bytes;
    for field in fields {
        let mut parts = Vec::new();
        while let [number, long, a, b, after @ ..] = rest {
            let length = usize::from(u16::from_le_bytes([*a, *b]));
            if *number != *field as u8 || after.len() < length {
                break;
            }
            let text = String::from_utf8_lossy(&after[..length]).into_owned();
            parts.push((text, *long == 1));
            rest = &after[length + if *long == 1 { 16 } else { 0 }..];
        }
        if let Some(value) = show_values(*field, &parts) {
            shown.push(MatchedField {
                field: Cow::Borrowed(field.info().path),
                value,
            });
        }
    }
    shown
}

/// Writes the parts of one field's value: its number, whether it is cut, its length, its bytes,
/// and where it is cut the hash of the whole.
struct Writer<'b> {
    bytes: &'b mut Vec<u8>,
    field: Field,
    headers: Option<&'b [Box<str>]>,
}

impl Writer<'_> {
    fn part(&mut self, text: &str) {
        let mut end = text.len().min(LONGEST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let long = end < text.len();
        let length = u16::try_from(end).unwrap_or(0).to_le_bytes();
        self.bytes
            .extend_from_slice(&[self.field as u8, u8::from(long), length[0], length[1]]);
        self.bytes.extend_from_slice(&text.as_bytes()[..end]);
        if long {
            let hash = blake3::hash(text.as_bytes());
            self.bytes.extend_from_slice(&hash.as_bytes()[..16]);
        }
    }

    /// What stands for the rest of a list: no text, and the hash of all of it.
    fn rest(&mut self, rest: &[Cow<'_, str>]) {
        let mut hasher = blake3::Hasher::new();
        for text in rest {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        self.bytes.extend_from_slice(&[self.field as u8, 1, 0, 0]);
        self.bytes
            .extend_from_slice(&hasher.finalize().as_bytes()[..16]);
    }

    fn headers(&mut self, headers: &Headers<'_>) {
        let names = self.headers;
        let asked = |name: &str| {
            names.is_none_or(|names| names.iter().any(|asked| asked.eq_ignore_ascii_case(name)))
        };
        for (name, value) in headers.0.iter().filter(|(name, _)| asked(name)) {
            self.part(name);
            self.part(value);
        }
    }

    fn slot(&mut self, slot: Slot<'_>) {
        match slot {
            Slot::Absent => {}
            Slot::Text(text) => self.part(text),
            Slot::Int(n) | Slot::Time(n) => self.part(&n.to_string()),
            Slot::Double(n) => self.part(&n.to_string()),
            Slot::Bool(yes) => self.part(if yes { "true" } else { "false" }),
            Slot::Texts(all) => {
                let (first, rest) = all.split_at(all.len().min(MOST_PARTS));
                first.iter().for_each(|text| self.part(text));
                if !rest.is_empty() {
                    self.rest(rest);
                }
            }
            Slot::Pairs(all) => all.iter().for_each(|(name, value)| {
                self.part(name);
                self.part(value);
            }),
            Slot::Headers(headers) => self.headers(headers),
            Slot::Tree(tree) => self.part(&tree.to_string()),
        }
    }
}
