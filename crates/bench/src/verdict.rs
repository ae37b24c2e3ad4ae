//! What may be said about a result. A figure without a pass is worse than no figure, because it
//! is quoted; so every other outcome carries its reason and is shown in the figure's place.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a result is worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", content = "reason", rename_all = "kebab-case")]
pub enum Verdict {
    /// Every sample was verified, the sandbox held, the machine was quiet.
    Pass,
    /// The command or the sandbox did not do what it should have done.
    Fail(String),
    /// Nothing wrong was seen, but the measurement cannot carry a figure.
    Inconclusive(String),
    /// The program is not installed.
    Absent(String),
    /// The system cannot do this by design.
    NotApplicable(String),
    /// The system is installed but does not start on this machine; its own message.
    DoesNotStart(String),
}

impl Verdict {
    /// Whether the result has a figure.
    #[must_use]
    pub fn passed(&self) -> bool {
        *self == Self::Pass
    }

    /// The word that stands in the table in the figure's place.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail(_) => "fail",
            Self::Inconclusive(_) => "inconclusive",
            Self::Absent(_) => "absent",
            Self::NotApplicable(_) => "n/a",
            Self::DoesNotStart(_) => "does not start",
        }
    }

    /// Why it is not a pass; empty for a pass.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Pass => "",
            Self::Fail(r)
            | Self::Inconclusive(r)
            | Self::Absent(r)
            | Self::NotApplicable(r)
            | Self::DoesNotStart(r) => r,
        }
    }

    /// The one of two that says the worse thing; of equals, `self`.
    #[must_use]
    pub(crate) fn worse(self, other: Self) -> Self {
        let rank = |v: &Self| match v {
            Self::Pass => 0,
            Self::NotApplicable(_) => 1,
            Self::Absent(_) => 2,
            Self::Inconclusive(_) => 3,
            Self::DoesNotStart(_) => 4,
            Self::Fail(_) => 5,
        };
        if rank(&other) > rank(&self) {
            other
        } else {
            self
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self.reason() {
            "" => Ok(()),
            reason => write!(f, ": {reason}"),
        }
    }
}
