//! `@pip`, `@npm`, …: the machines that a client downloads from, as this machine has it configured.
//!
//! Decision: no host name is written into the product. A set is what the client's own
//! configuration and its own installed files say, read here without starting the client where
//! that is possible. What files of the workspace say counts host by host as the user has trusted it:
//! neither a repository nor what ran in it before may choose where a sandbox may connect to.

mod apt;
mod cargo;
mod client;
mod git;
mod go;
mod ini;
mod maven;
mod npm;
mod pip;
mod search;
mod told;
#[cfg(test)]
mod trial;
mod url;

pub(crate) use search::{Accepted, Named, Place, Search};

use crate::error::PolicyError;
use crate::explain::{Access, decide_path};
use crate::keys::KeyId;
use crate::merge::Merge;
use crate::request::Request;
use crate::stack::Layer;
use crate::trust::SetHost;
use crate::{Effective, Sourced};
use bailiwick_event::{Host, HostPattern, Origin, PatternHost, Text};
use search::Found;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

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
    /// Machines that only files of the workspace name and that were not trusted, each with the file.
    pub left_out: Vec<(HostPattern, String)>,
    /// What the user should know.
    pub notices: Vec<String>,
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

impl SetName {
    /// As a policy names it.
    fn written(self) -> String {
        format!("@{}", self.name())
    }

    /// Looks for what it stands for.
    fn find(self, request: &Request, effective: &Effective, accepted: Accepted<'_>) -> Found {
        let mut search = Search::new(request, effective, accepted);
        match self {
            Self::Pip => pip::find(&mut search),
            Self::Npm => npm::find(&mut search),
            Self::Cargo => cargo::find(&mut search),
            Self::Go => go::find(&mut search),
            Self::Apt => apt::find(&mut search),
            Self::Maven => maven::find(&mut search),
            Self::Git => git::find(&mut search),
        }
        search.finish()
    }
}

/// The sets that were asked for, each once, by the strongest layer that did.
fn asked(merge: &Merge) -> Vec<(SetName, Layer, Origin)> {
    let mut asked: Vec<(SetName, Layer, Origin)> = Vec::new();
    for one in &merge.sets {
        if !asked.iter().any(|(set, ..)| *set == one.0) {
            asked.push(one.clone());
        }
    }
    asked
}

/// The sets that were asked for, and the hosts that only files of the workspace give them: what the
/// user can be asked to trust.
pub(crate) fn of_workspace(request: &Request, merge: &Merge) -> Vec<(String, Vec<Named>)> {
    let found = |(set, ..): (SetName, Layer, Origin)| {
        let found = set.find(request, &merge.effective, Accepted::All);
        (set.written(), found.accepted)
    };
    asked(merge).into_iter().map(found).collect()
}

/// Resolves every set that was asked for into `network.allow`; also what the user should know.
pub(crate) fn resolve_all(
    request: &Request,
    trusted: &[SetHost],
    merge: &mut Merge,
) -> Result<(Vec<ResolvedSet>, Vec<String>), PolicyError> {
    let mut resolved = Vec::new();
    let mut told = told::Told::default();
    for (set, layer, origin) in asked(merge) {
        let name = set.written();
        let accepted = trusted.iter().filter(|one| one.set == name);
        let accepted: Vec<_> = accepted.map(|one| one.host.clone()).collect();
        let mut found = set.find(request, &merge.effective, Accepted::These(&accepted));
        if found.is_empty() {
            return Err(PolicyError::EmptySet {
                set: name,
                origin,
                why: found.notices.join("; "),
            });
        }
        // Of one that a person allows there is nothing to tell.
        let allowed = &merge.effective.network.allow;
        found
            .inward
            .retain(|(host, _)| !allowed.iter().any(|known| known.value == *host));
        told.about(&name, &found);
        unseen_files(request, &name, merge, &mut found);
        pass_variables(set, request, &name, &origin, merge, &mut found);
        // A private address is meant only where the user's own side names the machine.
        for (pattern, _) in &found.own {
            if let PatternHost::Exact(host @ Host::Name(_)) = &pattern.host {
                merge.effective.network.registries.push(host.clone());
            }
        }
        let hosts = found.hosts();
        grant(&hosts, layer, &origin, merge);
        resolved.push(ResolvedSet {
            name,
            origin,
            hosts,
            left_out: found.left_out,
            notices: found.notices,
        });
    }
    Ok((resolved, told.notices(request)))
}

/// Says which files configure the client and are not there for it.
fn unseen_files(request: &Request, name: &str, merge: &Merge, found: &mut Found) {
    for file in &found.files {
        let access = decide_path(&merge.effective, file).0;
        if matches!(access, Access::Hidden | Access::Denied) {
            let shown = Text::from(request.shown(file));
            found.notices.push(format!("{name} is configured by {shown}, which the sandbox does not see; add it to [filesystem] read if it holds no credentials, or set the client's variable under [environment.set]"));
        }
    }
}

/// Passes on the variables by which the client is configured.
fn pass_variables(
    set: SetName,
    request: &Request,
    name: &str,
    origin: &Origin,
    merge: &mut Merge,
    found: &mut Found,
) {
    for (variable, value) in variables(set, request) {
        if url::has_credentials(&value) {
            found.notices.push(format!("{name}: {variable} holds credentials and is not passed on; give it with --env if the sandbox may have them"));
        } else {
            merge.effective.environment.pass.push(Sourced {
                value: variable,
                origin: origin.clone(),
            });
        }
    }
}

/// Grants the hosts of a set that a layer asked for.
fn grant(hosts: &[Named], layer: Layer, origin: &Origin, merge: &mut Merge) {
    let locked = merge.locked(KeyId::NetworkAllow).is_some() && layer != Layer::System;
    for (pattern, _) in hosts {
        let network = &merge.effective.network;
        if locked && !merge.network_grants(pattern) {
            merge.refuse(KeyId::NetworkAllow, origin);
        } else if !network.allow.iter().any(|a| a.value == *pattern) {
            merge.effective.network.allow.push(Sourced {
                value: pattern.clone(),
                origin: origin.clone(),
            });
        }
    }
}

#[cfg(test)]
#[path = "sets_tests.rs"]
mod tests;
