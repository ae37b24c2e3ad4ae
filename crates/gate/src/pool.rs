//! Connections to servers that take one request after another, of all clients.
//!
//! Decision: what is within TLS shares its connections among all clients of the sandbox, because to
//! agree on TLS twice for each of them would double what a connection costs. The key of a connection
//! is all that it was decided and certified by; a request never takes one that was made for another
//! name. Where a server has many connections already, a request first waits for one of them as long
//! as they come free: what a crowd of clients asks at once, fewer connections answer sooner.

use crate::body::Body;
use crate::destination::Destination;
use bailiwick_event::Via;
use hyper::client::conn::{http1 as h1, http2 as h2};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, interval, timeout};

/// Connections to one server that wait for a request.
const IDLE: usize = 64;
/// Connections that wait for a request, to all servers. A program can make any number of servers: by
/// names under a wildcard, and by what it offers within TLS.
const KEPT: usize = 128;
/// How long one may wait. Servers mostly end one after a minute or more.
const WAITS: Duration = Duration::from_secs(50);
/// How often those are looked for that have waited too long.
const TIDY: Duration = Duration::from_secs(15);
/// Connections to one server from which on a request waits for one of them to come free.
const MANY: usize = 64;
/// How long it waits while none comes free, and at most.
const PAUSE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_millis(250);

/// What the connections of one destination have in common. How the program came to it is no part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(Destination);

impl Key {
    pub(crate) fn of(to: &Destination) -> Self {
        let via = match to.via {
            // Leads to the host's loopback, where nothing else does.
            Via::Loopback => Via::Loopback,
            _ => Via::Proxy,
        };
        Self(Destination {
            address: None,
            via,
            ..to.clone()
        })
    }
}

struct Idle {
    sender: h1::SendRequest<Body>,
    since: Instant,
}

impl Idle {
    fn is_good(&self) -> bool {
        self.sender.is_ready() && self.since.elapsed() < WAITS
    }
}

/// The connections to one server.
#[derive(Default)]
struct Server {
    /// Of HTTP/2: one for all requests, and when one was given to it last.
    shared: Option<(h2::SendRequest<Body>, Instant)>,
    /// Of HTTP/1.1: those that no request uses, the last used at the end.
    idle: VecDeque<Idle>,
    /// How many a request uses, and of these, those that are being made.
    used: usize,
    dialling: usize,
    /// Requests that wait for one.
    waiting: VecDeque<oneshot::Sender<Lent>>,
    /// When one last came free.
    freed: Option<Instant>,
}

impl Server {
    fn is_unknown(&self) -> bool {
        self.shared.is_none() && self.idle.is_empty() && self.used == 0
    }

    fn kept(&self) -> usize {
        self.idle.len() + usize::from(self.shared.is_some())
    }

    /// When the one that has waited longest began to.
    fn oldest(&self) -> Option<Instant> {
        let idle = self.idle.front().map(|idle| idle.since);
        let shared = self.shared.as_ref().map(|(_, since)| *since);
        idle.into_iter().chain(shared).min()
    }

    /// Lets that one go. A request that is under way keeps its own connection.
    fn end_oldest(&mut self) {
        let oldest = self.oldest();
        match &self.shared {
            Some((_, since)) if Some(*since) == oldest => self.shared = None,
            _ => drop(self.idle.pop_front()),
        }
    }
}

/// Connections to servers that can take a request.
#[derive(Default)]
pub(crate) struct Pool(Mutex<HashMap<Key, Server>>);

/// A connection that can take a request.
pub(crate) enum Sender {
    One(Lent),
    Many(h2::SendRequest<Body>),
}

/// A connection for one request at a time. It ends with this, unless it is given back.
pub(crate) struct Lent {
    pub(crate) sender: h1::SendRequest<Body>,
    place: Place,
}

/// One of the connections to a server that requests use; it counts from before it is made.
pub(crate) struct Place {
    pool: Weak<Pool>,
    key: Key,
    dialling: bool,
}

impl Place {
    /// The connection is there.
    pub(crate) fn lend(mut self, sender: h1::SendRequest<Body>) -> Lent {
        self.count(|server| server.dialling = server.dialling.saturating_sub(1));
        self.dialling = false;
        Lent {
            sender,
            place: self,
        }
    }

    fn count(&self, change: impl FnOnce(&mut Server)) {
        if let Some(pool) = self.pool.upgrade() {
            pool.with(|servers| servers.get_mut(&self.key).map(change));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let dialling = usize::from(self.dialling);
        self.count(|server| {
            server.used = server.used.saturating_sub(1);
            server.dialling = server.dialling.saturating_sub(dialling);
            // The request that has waited longest makes one in its place.
            drop(server.waiting.pop_front());
        });
    }
}

impl Lent {
    /// Keeps the connection for the next request, as soon as the answer of this one has come whole.
    pub(crate) fn give_back(mut self) {
        if self.sender.is_ready() {
            return self.put();
        }
        tokio::spawn(async move {
            if self.sender.ready().await.is_ok() {
                self.put();
            }
        });
    }

    fn put(self) {
        let Some(pool) = self.place.pool.upgrade() else {
            return;
        };
        let since = Instant::now();
        let mut lent = self;
        while let Some(waiting) = pool.next_waiting(&lent.place.key, since) {
            match waiting.send(lent) {
                Ok(()) => return,
                // It waits no longer.
                Err(back) => lent = back,
            }
        }
        let Self { sender, place } = lent;
        let evicted = pool.with(|servers| {
            make_room(servers);
            let server = servers.entry(place.key.clone()).or_default();
            server.idle.push_back(Idle { sender, since });
            (server.idle.len() > IDLE).then(|| server.idle.pop_front())
        });
        drop(evicted);
    }
}

impl Pool {
    fn with<T>(&self, get: impl FnOnce(&mut HashMap<Key, Server>) -> T) -> T {
        get(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// One for a request to this destination; the one that was used last is the least likely to
    /// have been ended by its server meanwhile.
    pub(crate) fn take(self: &Arc<Self>, key: &Key) -> Option<Sender> {
        self.with(|servers| {
            let server = servers.get_mut(key)?;
            if let Some((sender, since)) = &mut server.shared {
                if !sender.is_closed() {
                    *since = Instant::now();
                    return Some(Sender::Many(sender.clone()));
                }
                server.shared = None;
            }
            while let Some(idle) = server.idle.pop_back() {
                if idle.is_good() {
                    server.used += 1;
                    let place = self.place(key, false);
                    return Some(Sender::One(Lent {
                        sender: idle.sender,
                        place,
                    }));
                }
            }
            None
        })
    }

    /// One that another request gives back, or that came to be shared. None where there are few, or
    /// where they do not come free.
    pub(crate) async fn wait(self: &Arc<Self>, key: &Key) -> Option<Sender> {
        let began = Instant::now();
        let mut coming = self.with(|servers| {
            let server = servers.get_mut(key).filter(|server| server.used >= MANY)?;
            let (sender, coming) = oneshot::channel();
            server.waiting.push_back(sender);
            Some(coming)
        })?;
        loop {
            match timeout(PAUSE, &mut coming).await {
                Ok(Ok(lent)) => return Some(Sender::One(lent)),
                // Told to look again.
                Ok(Err(_)) => return self.take(key),
                Err(_) if began.elapsed() < PATIENCE && self.moves(key) => {}
                Err(_) => return None,
            }
        }
    }

    /// Whether connections to a server come free, or are being made and will.
    fn moves(&self, key: &Key) -> bool {
        self.with(|servers| {
            servers.get(key).is_some_and(|server| {
                let freed = server.freed.is_some_and(|freed| freed.elapsed() < PAUSE);
                freed || server.dialling > 0
            })
        })
    }

    /// The request that has waited longest.
    fn next_waiting(&self, key: &Key, now: Instant) -> Option<oneshot::Sender<Lent>> {
        self.with(|servers| {
            let server = servers.get_mut(key)?;
            server.freed = Some(now);
            server.waiting.pop_front()
        })
    }

    fn place(self: &Arc<Self>, key: &Key, dialling: bool) -> Place {
        Place {
            pool: Arc::downgrade(self),
            key: key.clone(),
            dialling,
        }
    }

    /// A place for a connection that a request makes.
    pub(crate) fn begin(self: &Arc<Self>, key: &Key) -> Place {
        self.with(|servers| {
            make_room(servers);
            let server = servers.entry(key.clone()).or_default();
            server.used += 1;
            server.dialling += 1;
        });
        self.place(key, true)
    }

    /// Shares a connection among all requests, those that wait as well.
    pub(crate) fn share(&self, key: &Key, sender: h2::SendRequest<Body>) {
        self.with(|servers| {
            make_room(servers);
            let shared = Some((sender, Instant::now()));
            let server = servers.entry(key.clone()).or_default();
            server.shared = shared;
            // They take this one.
            server.waiting.clear();
        });
    }

    /// Shares it no longer.
    pub(crate) fn forget(&self, key: &Key) {
        self.with(|servers| {
            if let Some(server) = servers.get_mut(key) {
                server.shared = None;
            }
        });
    }

    /// Ends what has waited too long.
    fn tidy(&self) {
        self.with(|servers| {
            servers.retain(|_, server| {
                server.idle.retain(Idle::is_good);
                server.waiting.retain(|waiting| !waiting.is_closed());
                server
                    .shared
                    .take_if(|(sender, since)| sender.is_closed() || since.elapsed() >= WAITS);
                !server.is_unknown()
            });
        });
    }
}

/// Lets those go that have waited longest, where there are too many.
fn make_room(servers: &mut HashMap<Key, Server>) {
    let mut kept: usize = servers.values().map(Server::kept).sum();
    while kept >= KEPT {
        let oldest = servers.values_mut().filter(|server| server.kept() > 0);
        let Some(server) = oldest.min_by_key(|server| server.oldest()) else {
            return;
        };
        server.end_oldest();
        kept -= 1;
    }
    servers.retain(|_, server| !server.is_unknown());
}

/// Ends connections that have waited too long, for ever. It also spares each request the call that
/// wakes the runtime for a timer that is earlier than all others.
pub(crate) async fn keep(pool: Arc<Pool>) {
    let mut ticks = interval(TIDY);
    loop {
        ticks.tick().await;
        pool.tidy();
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
