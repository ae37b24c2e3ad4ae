//! The hosts of sets that files of a workspace name, as they were trusted.
//!
//! Decision: what is trusted is a host for a set in a workspace, and in the workspaces below it. A file
//! may change in every other way; a host that was not trusted is left out until somebody who was shown
//! it accepts it.

use super::TrustStore;
use crate::sets::Named;
use bailiwick_event::HostPattern;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A host that a set may have of the workspace's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SetHost {
    /// `@pip`.
    pub(crate) set: String,
    pub(crate) host: HostPattern,
}

impl std::fmt::Display for SetHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.set, self.host)
    }
}

/// What was trusted in one workspace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TrustedHosts {
    /// The workspace, canonical.
    pub(super) workspace: PathBuf,
    /// In the order of their texts, each once.
    pub(super) hosts: Vec<SetHost>,
}

impl TrustStore {
    /// The hosts that were trusted in a workspace.
    pub(crate) fn hosts(&self, workspace: &Path) -> Vec<SetHost> {
        let entries = self.workspaces.iter();
        let above = entries.filter(|entry| workspace.starts_with(&entry.workspace));
        above.flat_map(|entry| entry.hosts.clone()).collect()
    }

    /// Trusts hosts in place of what was trusted before in this workspace.
    pub(super) fn trust_hosts(&mut self, given: TrustedHosts) {
        let other = |entry: &TrustedHosts| entry.workspace != given.workspace;
        self.workspaces.retain(other);
        if !given.hosts.is_empty() {
            self.workspaces.push(given);
        }
    }
}

/// What files of a workspace give to sets, beside what was trusted of it.
pub(super) struct HostDiff {
    workspace: PathBuf,
    /// What they give, each with the file.
    given: Vec<(SetHost, String)>,
    /// Trusted in this very workspace, for the sets that were looked at.
    before: Vec<SetHost>,
    /// Trusted in this very workspace, for other sets: it stays.
    others: Vec<SetHost>,
    /// Trusted here or in a workspace above.
    trusted: Vec<SetHost>,
}

impl HostDiff {
    pub(super) fn new(
        store: &TrustStore,
        workspace: &Path,
        asked: Vec<(String, Vec<Named>)>,
    ) -> Self {
        let is_here = |entry: &&super::TrustedHosts| entry.workspace == workspace;
        let here = store.workspaces.iter().find(is_here);
        let here = here.map_or_else(Vec::new, |entry| entry.hosts.clone());
        let (before, others) = here
            .into_iter()
            .partition(|one| asked.iter().any(|(set, _)| *set == one.set));
        let mut given: Vec<(SetHost, String)> = Vec::new();
        for (set, hosts) in asked {
            let one = |host: HostPattern| SetHost {
                set: set.clone(),
                host,
            };
            given.extend(hosts.into_iter().map(|(host, from)| (one(host), from)));
        }
        given.sort_by_key(|(one, _)| one.to_string());
        Self {
            workspace: workspace.to_path_buf(),
            given,
            before,
            others,
            trusted: store.hosts(workspace),
        }
    }

    /// Hosts that were not trusted.
    fn added(&self) -> impl Iterator<Item = &(SetHost, String)> {
        let new = |(one, _): &&(SetHost, String)| !self.trusted.contains(one);
        self.given.iter().filter(new)
    }

    /// Hosts that were trusted and that nothing gives any more.
    fn removed(&self) -> impl Iterator<Item = &SetHost> {
        let is_given = |one: &SetHost| self.given.iter().any(|(given, _)| given == one);
        self.before.iter().filter(move |one| !is_given(one))
    }

    pub(super) fn is_change(&self) -> bool {
        self.added().next().is_some() || self.removed().next().is_some()
    }

    /// Whether no file gives a host, and none was trusted.
    pub(super) fn is_nothing(&self) -> bool {
        self.given.is_empty() && self.before.is_empty()
    }

    /// The change, line by line.
    pub(super) fn lines(&self) -> String {
        let removed = self.removed().map(|one| format!("- {one}\n"));
        let added = self.added();
        let added = added.map(|(one, from)| format!("+ {one} (from {from})\n"));
        removed.chain(added).collect()
    }

    /// What would be trusted.
    pub(super) fn shown(&self) -> Vec<String> {
        self.given.iter().map(|(one, _)| one.to_string()).collect()
    }

    pub(super) fn into_trusted(self) -> TrustedHosts {
        let mut hosts = self.others;
        hosts.extend(self.given.into_iter().map(|(one, _)| one));
        hosts.sort_by_key(ToString::to_string);
        TrustedHosts {
            workspace: self.workspace,
            hosts,
        }
    }
}
