//! One line of a report: the first event that a rule was true of with these values, and how many
//! there were.

use crate::rule::{Action, Compiled, Effect, Severity};
use crate::set::{Asked, hex, matched};
use bailiwick_event::MatchedField;
use bailiwick_event::fields::Subject;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;

/// Where an event is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A line of a file.
    Line {
        /// The file as the user knows it.
        file: Arc<str>,
        /// The line, from 1.
        line: u64,
    },
    /// An event of a session.
    Event {
        /// The session.
        session: Arc<str>,
        /// The event's number.
        id: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { file, line } => write!(f, "{file}:{line}"),
            Self::Event { session, id } => write!(f, "{session}/{id}"),
        }
    }
}

/// What a rule says of an event that it is true of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It decides the event.
    Enforce(Action),
    /// Its condition has no value, and what it would have stopped is stopped.
    Failed,
    /// It reports the event.
    Detect(Severity),
    /// It was hunted for.
    Found,
}

impl Verdict {
    /// What a rule says where it is true.
    #[must_use]
    pub fn of(effect: &Effect) -> Self {
        match effect {
            Effect::Enforce { action, .. } => Self::Enforce(*action),
            Effect::Detect { severity, .. } => Self::Detect(*severity),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enforce(action) => action.name(),
            Self::Failed => "deny (failed)",
            Self::Detect(severity) => severity.name(),
            Self::Found => "found",
        })
    }
}

/// One line of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The first event.
    pub event: Place,
    /// The rule's name; empty where no rule was asked.
    pub rule: Arc<str>,
    /// The pack that the rule came with.
    pub pack: Option<Arc<str>>,
    /// The same for findings of one rule on the same values.
    pub signature: u128,
    /// What the rule asked for, and the event has.
    pub fields: Vec<MatchedField>,
    /// What the rule says of it.
    pub verdict: Verdict,
    /// How many events there were.
    pub count: u64,
}

impl Row {
    pub(super) fn new(
        rule: &Compiled,
        subject: &Subject<'_>,
        signature: u128,
        verdict: Verdict,
        event: Place,
    ) -> Self {
        Self {
            event,
            rule: rule.rule().id.as_str().into(),
            pack: rule.rule().pack.clone(),
            signature,
            fields: matched(Asked::by(rule), subject),
            verdict,
            count: 1,
        }
    }

    /// The row for another program.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let fields: serde_json::Map<_, _> = self
            .fields
            .iter()
            .map(|field| (field.field.to_string(), Value::from(&*field.value)))
            .collect();
        let mut row = json!({
            "event": self.event.to_string(),
            "signature": hex(self.signature),
            "fields": fields,
            "count": self.count,
        });
        match self.verdict {
            Verdict::Enforce(action) => row["action"] = action.name().into(),
            Verdict::Failed => {
                row["action"] = Action::Deny.name().into();
                row["failed"] = true.into();
            }
            Verdict::Detect(severity) => row["severity"] = severity.name().into(),
            Verdict::Found => return row,
        }
        row["rule"] = (&*self.rule).into();
        row["pack"] = self.pack.as_deref().into();
        row
    }
}
