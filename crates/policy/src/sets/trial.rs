//! One set, looked for on a machine of a test.

use super::search::{Accepted, Found, Search};
use crate::Effective;
use crate::fixture::Machine;

/// Looks for a set, with some of the workspace's hosts accepted.
pub(super) fn found(
    machine: &Machine,
    accepted: Accepted<'_>,
    find: impl FnOnce(&mut Search<'_>),
) -> Found {
    let request = &machine.request;
    let effective = Effective::empty(request.workspace.clone(), request.home.clone());
    let mut search = Search::new(request, &effective, accepted);
    find(&mut search);
    search.finish()
}

/// The hosts that a set has where nothing was trusted, and what is told about it.
pub(super) fn untrusted(
    machine: &Machine,
    find: impl FnOnce(&mut Search<'_>),
) -> (Vec<String>, Vec<String>) {
    let found = found(machine, Accepted::These(&[]), find);
    (texts(&found.hosts()), found.notices)
}

/// The hosts that a set has where all was trusted that can be.
pub(super) fn trusted(machine: &Machine, find: impl FnOnce(&mut Search<'_>)) -> Vec<String> {
    texts(&found(machine, Accepted::All, find).hosts())
}

pub(super) fn texts(hosts: &[super::Named]) -> Vec<String> {
    hosts.iter().map(|(host, _)| host.to_string()).collect()
}
