//! What every connection shares. It outlives all of them and holds no connection's state, so
//! that one cannot see or break another.

use crate::accept;
use crate::body::Room;
use crate::decider::Decider;
use crate::destination::Destination;
use crate::model_calls::Models;
use crate::names::{Bound, Names};
use crate::outer_proxy::OuterProxy;
use crate::pool::Pool;
use crate::resolver::Resolver;
use crate::secrets::Secret;
use crate::secure::{Inspection, Tls};
use crate::settings::Settings;
use crate::sockets::Inside;
use bailiwick_event::Host;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use tokio::sync::Semaphore;

/// The session's guard, its names and its way inside.
pub(crate) struct Context {
    pub(crate) decider: Arc<dyn Decider>,
    pub(crate) inside: Arc<dyn Inside>,
    pub(crate) names: Names,
    pub(crate) resolver: Resolver,
    /// Ports of the host's loopback that the policy grants.
    pub(crate) loopback: HashSet<u16>,
    /// By what TLS is looked into; none where programs inside trust nobody for that.
    pub(crate) inspection: Option<Inspection>,
    tls: OnceLock<Result<Tls, String>>,
    /// The host's own proxy.
    pub(crate) outer_proxy: Option<OuterProxy>,
    /// Secrets that programs use without having them.
    pub(crate) secrets: Vec<Secret>,
    /// What language models were used for.
    pub(crate) models: Models,
    /// Connections to servers that nobody uses at the moment.
    pub(crate) pool: Arc<Pool>,
    /// For bodies that are held back.
    pub(crate) room: Room,
    /// Places for connections to servers.
    pub(crate) dialled: Arc<Semaphore>,
}

impl Context {
    pub(crate) fn new(
        decider: Arc<dyn Decider>,
        inside: Arc<dyn Inside>,
        names: Names,
        resolver: Resolver,
        loopback: HashSet<u16>,
        settings: Settings,
    ) -> Self {
        Self {
            room: Room::new(decider.body_limit()),
            decider,
            inside,
            names,
            resolver,
            loopback,
            inspection: settings.inspection,
            outer_proxy: settings.outer_proxy,
            secrets: settings.secrets,
            tls: OnceLock::new(),
            models: Models::default(),
            pool: Arc::default(),
            dialled: Arc::new(Semaphore::new(accept::max_dialled())),
        }
    }

    /// What looks into TLS, made when it is needed first.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub(crate) fn tls(&self) -> Result<&Tls, &str> {
        let made = self.tls.get_or_init(|| match &self.inspection {
            Some(inspection) => Tls::new(inspection).map_err(|error| error.to_string()),
            None => Err("no program of this sandbox trusts the authority for it".to_owned()),
        });
        made.as_ref().map_err(String::as_str)
    }
    /// Whether a server is known to speak HTTP within TLS: it waits to be asked.
    pub(crate) fn speaks_http(&self, to: &Destination) -> bool {
        let made = self.tls.get().and_then(|made| made.as_ref().ok());
        made.is_some_and(|tls| tls.speaks_http(&to.host, to.port))
    }

    /// The host that an address stands for: the bound name, or the address itself.
    pub(crate) fn host_of(&self, ip: IpAddr) -> Host {
        match self.names.of(ip) {
            Bound::Name(name) => Host::Name(name.to_string()),
            Bound::Nothing | Bound::Outside => Host::from(ip),
        }
    }
}
