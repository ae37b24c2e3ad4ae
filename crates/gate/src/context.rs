//! What every connection shares. It outlives all of them and holds no connection's state, so
//! that one cannot see or break another.

use crate::decider::Decider;
use crate::names::{Bound, Names};
use crate::sockets::Inside;
use bailiwick_event::Host;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

/// The session's guard, its names and its way inside.
pub(crate) struct Context {
    pub(crate) decider: Arc<dyn Decider>,
    pub(crate) inside: Arc<dyn Inside>,
    pub(crate) names: Names,
    /// Ports of the host's loopback that the policy grants.
    pub(crate) loopback: HashSet<u16>,
}

impl Context {
    /// The host that an address stands for: the bound name, or the address itself.
    pub(crate) fn host_of(&self, ip: IpAddr) -> Host {
        match self.names.of(ip) {
            Bound::Name(name) => Host::Name(name.to_string()),
            Bound::Nothing | Bound::Outside => Host::from(ip),
        }
    }
}
