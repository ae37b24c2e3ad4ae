//! A rule: a condition about one type of event, and what follows where it is true.

use super::{Example, Rewrite};
use bailiwick_event::Origin;
use bailiwick_event::fields::EventType;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::sync::Arc;

/// What happens to an event that a rule is true of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It happens, whatever rules after this one say.
    Allow,
    /// It does not happen.
    Deny,
    /// A person decides.
    Ask,
    /// It happens in another form.
    Rewrite,
    /// It is recorded, and the rules after this one decide.
    Observe,
    /// It does not happen, and the session is ended.
    Stop,
}

impl Action {
    /// Every action and its name.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Allow, "allow"),
        (Self::Deny, "deny"),
        (Self::Ask, "ask"),
        (Self::Rewrite, "rewrite"),
        (Self::Observe, "observe"),
        (Self::Stop, "stop"),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether a failed condition means that the event does not happen: it might have been true,
    /// and what the rule would then have stopped or changed must not pass.
    #[must_use]
    pub fn fails_closed(self) -> bool {
        matches!(self, Self::Deny | Self::Ask | Self::Rewrite | Self::Stop)
    }
}

/// How bad it is, if a detection is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are those of Sigma's levels")]
pub enum Severity {
    Informational,
    Low,
    Medium,
    High,
    Critical,
}

impl Severity {
    /// Every severity and its name.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Informational, "informational"),
        (Self::Low, "low"),
        (Self::Medium, "medium"),
        (Self::High, "high"),
        (Self::Critical, "critical"),
    ];

    /// The severity of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(severity, _)| *severity)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// How sure a detection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

impl Confidence {
    /// Every confidence and its name.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::Low, "low"),
        (Self::Medium, "medium"),
        (Self::High, "high"),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// What follows where a rule is true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The event is decided.
    Enforce {
        /// How.
        action: Action,
        /// What the user can do about a refusal.
        #[serde(default)]
        remedy: String,
        /// What is changed, for [`Action::Rewrite`].
        #[serde(default)]
        rewrites: Vec<Rewrite>,
    },
    /// A finding is recorded.
    Detect {
        /// How bad it is.
        severity: Severity,
        /// How sure it is.
        confidence: Confidence,
    },
}

impl Effect {
    /// What happens to the event; none where it is only reported.
    #[must_use]
    pub fn action(&self) -> Option<Action> {
        match self {
            Self::Enforce { action, .. } => Some(*action),
            Self::Detect { .. } => None,
        }
    }
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Its name; one rule of that name is in force.
    pub id: String,
    /// The type of event that it is about.
    #[serde(with = "event_type")]
    pub on: EventType,
    /// The condition.
    pub when: String,
    /// What follows.
    pub effect: Effect,
    /// Of two rules the one with the higher priority is asked first.
    #[serde(default)]
    pub priority: i64,
    /// Whether it stands in the system's locked layer, whose rules are asked before all others.
    #[serde(default)]
    pub locked: bool,
    /// Whether a project wrote it that is not trusted. Such rules have an account of steps of their
    /// own: what they cost takes nothing from others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// Why, in one clause for a person.
    #[serde(default)]
    pub reason: String,
    /// Words to find it by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Whether it is in force.
    pub enabled: bool,
    /// When it ceases to be in force: seconds since the Unix epoch.
    #[serde(default)]
    pub expires: Option<i64>,
    /// The line that wrote it.
    pub origin: Origin,
    /// The pack that it came with.
    #[serde(default)]
    pub pack: Option<Arc<str>>,
    /// Events that it must be true of, or must not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
}

impl Rule {
    /// A rule that decides, as one reads it from a line: in force, with no priority.
    #[must_use]
    pub fn enforcement(id: &str, on: EventType, when: &str, action: Action) -> Self {
        Self::new(
            id,
            on,
            when,
            Effect::Enforce {
                action,
                remedy: String::new(),
                rewrites: Vec::new(),
            },
        )
    }

    /// A rule that reports.
    #[must_use]
    pub fn detection(id: &str, on: EventType, when: &str, severity: Severity) -> Self {
        Self::new(
            id,
            on,
            when,
            Effect::Detect {
                severity,
                confidence: Confidence::Medium,
            },
        )
    }

    /// A rule with that effect.
    #[must_use]
    pub fn new(id: &str, on: EventType, when: &str, effect: Effect) -> Self {
        Self {
            id: id.to_owned(),
            on,
            when: when.to_owned(),
            effect,
            priority: 0,
            locked: false,
            untrusted: false,
            reason: String::new(),
            tags: Vec::new(),
            enabled: true,
            expires: None,
            origin: Origin::built_in(),
            pack: None,
            examples: Vec::new(),
        }
    }

    /// Which of two rules is asked first.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        other
            .locked
            .cmp(&self.locked)
            .then(other.priority.cmp(&self.priority))
            .then_with(|| self.id.cmp(&other.id))
    }

    /// Whether it has ceased to be in force at a time, in seconds since the Unix epoch.
    #[must_use]
    pub fn is_over(&self, now: i64) -> bool {
        self.expires.is_some_and(|end| now >= end)
    }
}

mod event_type {
    use super::{Deserialize, EventType};
    use serde::de::Error as _;
    use serde::{Deserializer, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(super) fn serialize<S: Serializer>(on: &EventType, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(on.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<EventType, D::Error> {
        let name = String::deserialize(from)?;
        EventType::named(&name)
            .ok_or_else(|| D::Error::custom(format!("no event has the type {name:?}")))
    }
}
