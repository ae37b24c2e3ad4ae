//! The connections that are about to arrive at the gate's listeners on the host's loopback, where
//! every process of the machine can connect. The gate makes each of its programs' connections
//! itself, so that it knows from which port it comes before it is there; what is not expected is
//! another's and is closed at once.

use crate::destination::Destination;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections that may be made and not yet served.
const MAX_WAITING: usize = 512;
/// A connection over loopback has arrived by then, or never will.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a connection is served.
#[derive(Debug)]
pub(crate) enum Way {
    /// As one to the proxy.
    Proxy,
    /// As one to an address, which is still to be decided.
    Transparent(SocketAddr),
    /// As one to the host's loopback, which was allowed.
    Loopback(Destination),
}

/// What is expected, by the address that it comes from.
#[derive(Debug)]
pub(crate) struct Expected {
    from: Mutex<HashMap<SocketAddr, Entry>>,
    waiting: Arc<Semaphore>,
}

#[derive(Debug)]
struct Entry {
    way: Way,
    since: Instant,
    place: OwnedSemaphorePermit,
}

impl Expected {
    pub(crate) fn new() -> Self {
        Self {
            from: Mutex::default(),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
        }
    }

    /// A place for one more connection, which it gives back when it is served; none where too many
    /// wait.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        let place = || self.waiting.clone().try_acquire_owned().ok();
        place().or_else(|| {
            self.entries().retain(|_, e| e.since.elapsed() < PATIENCE);
            place()
        })
    }

    /// Expects a connection from an address, before it is made. Nothing changes where one is
    /// expected from there already.
    pub(crate) fn expect(&self, from: SocketAddr, way: Way, place: OwnedSemaphorePermit) -> bool {
        let mut entries = self.entries();
        let free = !entries.contains_key(&from);
        if free {
            let since = Instant::now();
            entries.insert(from, Entry { way, since, place });
        }
        free
    }

    /// Takes what is expected from an address.
    pub(crate) fn take(&self, from: SocketAddr) -> Option<(Way, OwnedSemaphorePermit)> {
        let entry = self.entries().remove(&from)?;
        Some((entry.way, entry.place))
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<SocketAddr, Entry>> {
        self.from.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "expected_tests.rs"]
mod tests;
