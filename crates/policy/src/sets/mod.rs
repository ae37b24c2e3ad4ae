//! `@pip`, `@npm`, …: the machines that a client downloads from, as this machine has it configured.
//!
//! Decision: no host name is written into the product. A set is what the client's own
//! configuration and its own installed files say, read here without starting the client where
//! that is possible. Files of the workspace count only when the project is trusted: a repository
//! must not choose where a sandbox may connect to.

mod apt;
mod cargo;
mod client;
mod git;
mod go;
mod ini;
mod maven;
mod npm;
mod pip;
mod url;

use crate::Sourced;
use crate::error::PolicyError;
use crate::explain::{Access, decide_path};
use crate::keys::KeyId;
use crate::merge::Merge;
use crate::request::Request;
use crate::source_text::read_regular;
use crate::stack::Layer;
use bailiwick_event::{Host, HostPattern, Origin, PatternHost, Text};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SetName {
    Pip,
    Npm,
    Cargo,
    Go,
    Apt,
    Maven,
    Git,
}

impl SetName {
    pub(crate) const ALL: [Self; 7] = [
        Self::Pip,
        Self::Npm,
        Self::Cargo,
        Self::Go,
        Self::Apt,
        Self::Maven,
        Self::Git,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pip => "pip",
            Self::Npm => "npm",
            Self::Cargo => "cargo",
            Self::Go => "go",
            Self::Apt => "apt",
            Self::Maven => "maven",
            Self::Git => "git",
        }
    }
}

/// A set and what it stands for here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedSet {
    /// `@pip`.
    pub name: String,
    /// The line that asked for it.
    pub origin: Origin,
    /// The machines, each with the file or variable that named it.
    pub hosts: Vec<(HostPattern, String)>,
    /// What the user should know.
    pub notices: Vec<String>,
}

/// Where a set looks, and what it has found.
pub(crate) struct Search<'a> {
    pub(crate) request: &'a Request,
    pub(crate) workspace: &'a Path,
    /// Whether files of the workspace count.
    pub(crate) trusted: bool,
    found: Vec<(HostPattern, String)>,
    /// Configuration files that named a host: the client needs to see them too.
    files: Vec<PathBuf>,
    notices: Vec<String>,
}

impl<'a> Search<'a> {
    fn new(request: &'a Request, workspace: &'a Path, trusted: bool) -> Self {
        Self {
            request,
            workspace,
            trusted,
            found: Vec::new(),
            files: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// The hosts that were found, for tests of one set.
    #[cfg(test)]
    fn hosts(&self) -> Vec<String> {
        self.found.iter().map(|(p, _)| p.to_string()).collect()
    }

    /// A configuration file's text; None where there is none that can be read.
    fn read(&self, path: &Path) -> Option<String> {
        let bytes = read_regular(path, 1 << 20).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A variable of the caller, as text.
    fn variable(&self, name: &str) -> Option<String> {
        self.request
            .variable(name)
            .and_then(|v| v.to_str())
            .map(str::to_owned)
    }

    fn home(&self, rest: &str) -> PathBuf {
        self.request.home.join(rest)
    }

    /// A file by which the client is configured, as the user would write it.
    fn shown(&self, path: &Path) -> String {
        Text::from(self.request.shown(path)).to_string()
    }

    /// Adds the machine of a URL; whether there was one.
    fn add(&mut self, text: &str, from: &str) -> bool {
        let Some(pattern) = url::host_of(text) else {
            return false;
        };
        if !self.found.iter().any(|(p, _)| *p == pattern) {
            self.found.push((pattern, from.to_owned()));
        }
        true
    }

    /// Adds the machine of a URL that a configuration file names.
    fn add_from(&mut self, text: &str, file: &Path) -> bool {
        let added = self.add(text, &self.shown(file));
        if added && file.starts_with(&self.request.home) && !self.files.iter().any(|f| f == file) {
            self.files.push(file.to_path_buf());
        }
        added
    }

    fn notice(&mut self, text: String) {
        self.notices.push(text);
    }
}

/// The caller's variables by which a set's client is told where to download from: what the set
/// was resolved by, the client inside must be told as well.
fn variables(set: SetName, request: &Request) -> Vec<(String, String)> {
    let wanted = |name: &str| {
        let lower = name.to_ascii_lowercase();
        match set {
            SetName::Pip => matches!(
                name,
                "PIP_INDEX_URL" | "PIP_EXTRA_INDEX_URL" | "PIP_FIND_LINKS" | "PIP_TRUSTED_HOST"
            ),
            SetName::Npm => {
                lower == "npm_config_registry"
                    || lower.starts_with("npm_config_@") && lower.ends_with(":registry")
            }
            SetName::Cargo => name.starts_with("CARGO_REGISTRIES_") && name.ends_with("_INDEX"),
            SetName::Go => matches!(
                name,
                "GOPROXY" | "GONOPROXY" | "GOSUMDB" | "GONOSUMDB" | "GOPRIVATE"
            ),
            SetName::Apt | SetName::Maven | SetName::Git => false,
        }
    };
    let text = |(name, value): (&OsString, &OsString)| {
        let name = name.to_str().filter(|name| wanted(name))?;
        Some((name.to_owned(), value.to_str()?.to_owned()))
    };
    request.environment.iter().filter_map(text).collect()
}

/// Resolves every set that was asked for into `network.allow`.
pub(crate) fn resolve_all(
    request: &Request,
    workspace: &Path,
    trusted: bool,
    merge: &mut Merge,
) -> Result<Vec<ResolvedSet>, PolicyError> {
    let mut resolved: Vec<ResolvedSet> = Vec::new();
    for (set, layer, origin) in merge.sets.clone() {
        let name = format!("@{}", set.name());
        if resolved.iter().any(|r| r.name == name) {
            continue;
        }
        let mut search = Search::new(request, workspace, trusted);
        match set {
            SetName::Pip => pip::find(&mut search),
            SetName::Npm => npm::find(&mut search),
            SetName::Cargo => cargo::find(&mut search),
            SetName::Go => go::find(&mut search),
            SetName::Apt => apt::find(&mut search),
            SetName::Maven => maven::find(&mut search),
            SetName::Git => git::find(&mut search),
        }
        let Search {
            found,
            files,
            mut notices,
            ..
        } = search;
        if found.is_empty() {
            return Err(PolicyError::EmptySet {
                set: name,
                origin,
                why: notices.join("; "),
            });
        }
        for file in files {
            if matches!(
                decide_path(&merge.effective, &file).0,
                Access::Hidden | Access::Denied
            ) {
                let shown = Text::from(request.shown(&file));
                notices.push(format!("{name} is configured by {shown}, which the sandbox does not see; add it to [filesystem] read if it holds no credentials, or set the client's variable under [environment.set]"));
            }
        }
        for (variable, value) in variables(set, request) {
            if url::has_credentials(&value) {
                notices.push(format!("{name}: {variable} holds credentials and is not passed on; give it with --env if the sandbox may have them"));
            } else {
                merge.effective.environment.pass.push(Sourced {
                    value: variable,
                    origin: origin.clone(),
                });
            }
        }
        for (pattern, _) in &found {
            if let PatternHost::Exact(host @ Host::Name(_)) = &pattern.host {
                merge.effective.network.registries.push(host.clone());
            }
        }
        let locked = merge.locked(KeyId::NetworkAllow).is_some() && layer != Layer::System;
        for (pattern, _) in &found {
            if locked && !merge.network_grants(pattern) {
                merge.refuse(KeyId::NetworkAllow, &origin);
            } else if !merge
                .effective
                .network
                .allow
                .iter()
                .any(|a| a.value == *pattern)
            {
                merge.effective.network.allow.push(Sourced {
                    value: pattern.clone(),
                    origin: origin.clone(),
                });
            }
        }
        resolved.push(ResolvedSet {
            name,
            origin,
            hosts: found,
            notices,
        });
    }
    Ok(resolved)
}

#[cfg(test)]
#[path = "sets_tests.rs"]
mod tests;
