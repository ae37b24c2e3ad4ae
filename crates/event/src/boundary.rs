//! The closed list of places where an act is seen. A boundary is a label on a row, never a place
//! where something is decided.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A place where a sandboxed program's act can be seen and stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Boundary {
    /// A program is started.
    Exec,
    /// A file is opened, created, changed or removed.
    File,
    /// A name is looked up.
    Dns,
    /// An HTTP request is sent.
    Http,
    /// A message of the Model Context Protocol.
    Mcp,
    /// A call to a language model.
    Model,
    /// A connection or datagram that is not one of the above.
    Socket,
    /// A resource limit of the sandbox.
    Limit,
    /// The session itself: its start, its end, records that were lost.
    Session,
}

impl Boundary {
    /// Every boundary, in the order in which help texts list them.
    pub const ALL: [Self; 9] = [
        Self::Exec,
        Self::File,
        Self::Dns,
        Self::Http,
        Self::Mcp,
        Self::Model,
        Self::Socket,
        Self::Limit,
        Self::Session,
    ];

    /// The name that policies, the ledger and the command line use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exec => "exec",
            Self::File => "file",
            Self::Dns => "dns",
            Self::Http => "http",
            Self::Mcp => "mcp",
            Self::Model => "model",
            Self::Socket => "socket",
            Self::Limit => "limit",
            Self::Session => "session",
        }
    }
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Boundary {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|b| b.name() == s)
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|b| b.name()).collect();
                format!(
                    "no boundary is called \"{s}\"; the boundaries are {}",
                    names.join(", ")
                )
            })
    }
}
