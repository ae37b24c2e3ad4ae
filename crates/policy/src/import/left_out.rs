//! What an import could not carry over, told so that a person knows what does not hold and what
//! to do about it.

use bailiwick_event::{Origin, Text};
use std::fmt;

/// A key of the source that is not in the policy, or means less there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Where the key stands in the source.
    pub origin: Origin,
    /// The key with all that lies above it: `command.deny[2]`.
    pub key: String,
    /// Why it is not in the policy, and what that means.
    pub why: String,
    /// What to do instead; may be empty.
    pub instead: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names and values are a stranger's: nothing of them may reach the terminal as it is.
        let (key, why) = (Text::from(self.key.as_str()), Text::from(self.why.as_str()));
        write!(f, "{}: {key}: {why}", self.origin)?;
        match self.instead.as_str() {
            "" => Ok(()),
            instead => write!(f, "; {}", Text::from(instead)),
        }
    }
}
