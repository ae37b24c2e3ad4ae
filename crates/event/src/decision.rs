//! What was decided about an event, by which rule, and what the user can do about it. A refusal
//! without a rule and a remedy cannot be expressed.

use crate::Origin;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// The four ways in which an event can be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It happens.
    Allow,
    /// It does not happen.
    Deny,
    /// A person decides.
    Ask,
    /// It happens in another form.
    Rewrite,
}

impl Verdict {
    /// The name that the ledger and the command line use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Rewrite => "rewrite",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A rule by its stable name and by the line that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRef {
    /// The rule's name: `network.allow`, `network.default`, `network.private-address`, …
    pub id: String,
    /// The line that made the rule.
    pub origin: Origin,
}

impl fmt::Display for RuleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.origin)
    }
}

/// A field that a rule asked for, and what its value was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchedField {
    /// The field's name: `http.request.host`.
    pub field: Cow<'static, str>,
    /// Its value, short; a credential in it is told by its kind alone.
    pub value: String,
}

/// The outcome for one event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What happens.
    pub verdict: Verdict,
    /// The rule that decided.
    pub rule: RuleRef,
    /// Why, in one clause for a person; empty for an ordinary allow.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the user can do about a refusal, in one clause; empty for an allow.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
    /// The pack that the rule came with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
    /// What the rule asked for, where it is one with a condition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<MatchedField>,
}

impl Decision {
    /// The event happens, because of `rule`.
    #[must_use]
    pub fn allow(rule: RuleRef) -> Self {
        Self {
            verdict: Verdict::Allow,
            rule,
            reason: String::new(),
            remedy: String::new(),
            pack: None,
            matched: Vec::new(),
        }
    }

    /// The event does not happen.
    #[must_use]
    pub fn deny(rule: RuleRef, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Deny,
            rule,
            reason: reason.into(),
            remedy: remedy.into(),
            pack: None,
            matched: Vec::new(),
        }
    }

    /// The reason of a rule with a condition, which somebody wrote to be read by whoever is refused;
    /// the product's own refusals say all in the rule's name and the remedy.
    #[must_use]
    pub fn told_reason(&self) -> Option<&str> {
        let by_condition = self.pack.is_some() || !self.matched.is_empty();
        Some(&*self.reason).filter(|reason| by_condition && !reason.is_empty())
    }

    /// Whether the event happens as it was asked for.
    #[must_use]
    pub fn is_allow(&self) -> bool {
        self.verdict == Verdict::Allow
    }
}
