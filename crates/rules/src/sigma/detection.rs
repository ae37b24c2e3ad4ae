//! What a rule detects, in the fields of events: the form between a rule of Sigma and a condition.
//! It says nothing about how it is evaluated, so that it can be kept, compared and printed anew
//! when the language of conditions learns something.

use super::detection_parts::Match;
use bailiwick_event::fields::EventType;
use serde::{Deserialize, Serialize};

/// The version of the form.
pub const SCHEMA: u32 = 1;
/// Levels of the deepest condition.
pub const MAX_DEPTH: usize = 24;
/// Groups, matches and values of the largest condition.
pub const MAX_PARTS: usize = 4096;

/// A rule that was carried over. [`Detection::parse`] reads its JSON and checks it; what is read
/// otherwise, or built by hand, is checked by [`Detection::validate`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Detection {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The rule's number, a UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it detects, in a few words.
    pub title: String,
    /// What it detects, in more.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How grave it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// How mature it is, as its author says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Who wrote it; the licence of most rules asks for this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// When it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Where more is said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// What else it may find.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub falsepositives: Vec<String>,
    /// Sigma's fields that whoever looks into a finding wants to see.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// The type of the events that it is about.
    #[serde(serialize_with = "by_name")]
    pub on: EventType,
    /// When it matches.
    pub condition: Condition,
}

fn by_name<S: serde::Serializer>(on: &EventType, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(on.name())
}

/// When a rule matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Condition {
    /// Every one of them, at least one.
    All(Vec<Condition>),
    /// At least one of them.
    Any(Vec<Condition>),
    /// Whatever this one does not match.
    Not(Box<Condition>),
    /// A test of one value.
    Match(Match),
}

impl Condition {
    /// All of them; one alone stands for itself, and what lies in one is taken out.
    #[must_use]
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Self::All(inner) => kept.extend(inner),
                part => kept.push(part),
            }
        }
        match kept.pop() {
            Some(one) if kept.is_empty() => one,
            last => {
                kept.extend(last);
                Self::All(kept)
            }
        }
    }

    /// Any of them; one alone stands for itself, and tests that differ in their values alone
    /// become one.
    #[must_use]
    pub fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut kept: Vec<Self> = Vec::new();
        let mut put = |part: Self| {
            let Self::Match(mut test) = part else {
                return kept.push(part);
            };
            for before in &mut kept {
                let Self::Match(before) = before else {
                    continue;
                };
                match before.join(test) {
                    Ok(()) => return,
                    Err(other) => test = other,
                }
            }
            kept.push(Self::Match(test));
        };
        for part in parts {
            match part {
                Self::Any(inner) => inner.into_iter().for_each(&mut put),
                part => put(part),
            }
        }
        match kept.pop() {
            Some(one) if kept.is_empty() => one,
            last => {
                kept.extend(last);
                Self::Any(kept)
            }
        }
    }

    /// The opposite; twice is none.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "it simplifies")]
    pub fn not(of: Self) -> Self {
        match of {
            Self::Not(inner) => *inner,
            of => Self::Not(Box::new(of)),
        }
    }

    /// Groups, matches and values.
    pub(super) fn parts(&self) -> usize {
        match self {
            Self::All(all) | Self::Any(all) => 1 + all.iter().map(Self::parts).sum::<usize>(),
            Self::Not(of) => 1 + of.parts(),
            Self::Match(test) => 1 + test.len(),
        }
    }
}

/// How grave what a rule detects is: Sigma's levels are this engine's severities.
pub type Level = crate::rule::Severity;
