//! The three ways in which a command of the product itself can fail. They never mix, because
//! they ask for different acts: change the policy, change the command, or mend the machine.

use crate::{Origin, RuleRef};
use std::fmt;

/// Why `bailiwick` itself did not do what it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A policy forbids it.
    Refused(Refused),
    /// The user's input cannot be taken: what, where and how to mend it.
    Usage(String),
    /// The product or the machine cannot do it.
    Fault(String),
}

/// A refusal by policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The rule that refused.
    pub rule: RuleRef,
    /// What was refused.
    pub resource: String,
    /// What the user can do about it.
    pub remedy: String,
}

impl Failure {
    /// A refusal by a rule that the product always enforces.
    #[must_use]
    pub fn refused(rule: &str, resource: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Refused(Refused {
            rule: RuleRef {
                id: rule.to_owned(),
                origin: Origin::built_in(),
            },
            resource: resource.into(),
            remedy: remedy.into(),
        })
    }

    /// A mistake in the user's input.
    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// Something that the product or the machine could not do.
    #[must_use]
    pub fn fault(message: impl Into<String>) -> Self {
        Self::Fault(message.into())
    }

    /// The exit code of the process: 126 refused, 2 usage, 125 fault.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(_) => 126,
            Self::Usage(_) => 2,
            Self::Fault(_) => 125,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(r) => {
                write!(
                    f,
                    "refused: {}\n  rule: {}\n  remedy: {}",
                    r.resource, r.rule, r.remedy
                )
            }
            Self::Usage(m) | Self::Fault(m) => f.write_str(m),
        }
    }
}
impl std::error::Error for Failure {}
