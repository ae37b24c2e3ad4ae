//! The policies of the suite. Every row of one kind runs under the same file, whose text and hash
//! are in the evidence: a figure means nothing without the authority under which it was taken.

use crate::evidence::Authority;
use crate::fixture::Fixture;
use crate::server::Server;
use std::io;
use std::path::{Path, PathBuf};

/// What most rows run under.
pub(crate) const POLICY: &str = "extends = [\"default\"]\n";

/// Which policy a row runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// The template `default`: the workspace writable, no network, the write broker.
    Default,
    /// A server of the bench's on loopback under a name.
    Network,
    /// Protected names are swept at the end instead of kept by the write broker.
    Sweep,
    /// A pattern that is searched for in the whole workspace.
    Deny,
}

impl Profile {
    const ALL: [Self; 4] = [Self::Default, Self::Network, Self::Sweep, Self::Deny];

    fn file(self) -> &'static str {
        match self {
            Self::Default => "overhead.toml",
            Self::Network => "network.toml",
            Self::Sweep => "sweep.toml",
            Self::Deny => "deny.toml",
        }
    }

    fn rows(self) -> &'static str {
        match self {
            Self::Default => "all rows but those named by another policy",
            Self::Network => "rows with a network",
            Self::Sweep => "the column of the sweep",
            Self::Deny => "rows with a `**` deny",
        }
    }

    /// Its text; none where it names a server that there is not.
    fn text(self, server: Option<&Server>) -> Option<String> {
        Some(match self {
            Self::Default => POLICY.to_owned(),
            Self::Network => format!(
                "{POLICY}\n[network.hosts]\n\"bench.test\" = \"{}\"\n",
                server?.address()
            ),
            Self::Sweep => format!("{POLICY}\n[filesystem]\nprotect_absent = \"sweep\"\n"),
            Self::Deny => format!("{POLICY}\n[filesystem]\ndeny = [\"**/*.secret\"]\n"),
        })
    }
}

/// The policies' files.
#[derive(Clone)]
pub(crate) struct Profiles(PathBuf);

impl Profiles {
    /// Writes them all. The second value is what the evidence says of them.
    pub(crate) fn write(
        fixture: &Fixture,
        server: Option<&Server>,
    ) -> io::Result<(Self, Vec<Authority>)> {
        let own = Self(fixture.policies());
        let mut authority = Vec::new();
        for profile in Profile::ALL {
            let Some(text) = profile.text(server) else {
                continue;
            };
            std::fs::write(own.path(profile), &text)?;
            authority.push(Authority {
                rows: profile.rows().to_owned(),
                hash: blake3::hash(text.as_bytes()).to_hex().to_string(),
                text,
            });
        }
        Ok((own, authority))
    }

    /// The file of one.
    pub(crate) fn path(&self, profile: Profile) -> PathBuf {
        Path::new(&self.0).join(profile.file())
    }
}
