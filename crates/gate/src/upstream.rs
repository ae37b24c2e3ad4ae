//! Connections to servers, and requests on them.
//!
//! Decision: what is within TLS shares its connections among all clients of the sandbox, because to
//! agree on TLS twice for each of them would double what a connection costs. The key of a connection
//! is all that it was decided and certified by; a request never takes one that was made for another
//! name.

use crate::body::Body;
use crate::context::Context;
use crate::destination::Destination;
use crate::dial::{self, DialError, Pending};
use crate::{http1, http2};
use bailiwick_event::Via;
use hyper::body::Incoming;
use hyper::client::conn::{http1 as h1, http2 as h2};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Connections to one server that wait for a request.
const IDLE: usize = 64;
/// How long one may wait. Servers mostly end one after a minute or more.
const WAITS: Duration = Duration::from_secs(50);

/// What the connections of one destination have in common. How the program came to it is no part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key(Destination);

impl Key {
    fn of(to: &Destination) -> Self {
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

#[derive(Default)]
struct Connections {
    /// Of HTTP/1.1: those that no request uses.
    idle: HashMap<Key, Vec<Idle>>,
    /// Of HTTP/2: one for all requests.
    shared: HashMap<Key, h2::SendRequest<Body>>,
}

/// Connections to servers that can take a request.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Connections>);

/// A connection that can take a request.
enum Sender {
    One(h1::SendRequest<Body>),
    Many(h2::SendRequest<Body>),
}

impl Pool {
    fn with<T>(&self, get: impl FnOnce(&mut Connections) -> T) -> T {
        get(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// One for a request to this destination; the one that was used last is the least likely to
    /// have been ended by its server meanwhile.
    fn take(&self, key: &Key) -> Option<Sender> {
        self.with(|all| {
            if let Some(sender) = all.shared.get(key) {
                if !sender.is_closed() {
                    return Some(Sender::Many(sender.clone()));
                }
                all.shared.remove(key);
            }
            let idle = all.idle.get_mut(key)?;
            while let Some(one) = idle.pop() {
                if one.sender.is_ready() && one.since.elapsed() < WAITS {
                    return Some(Sender::One(one.sender));
                }
            }
            None
        })
    }

    fn put(&self, key: Key, sender: h1::SendRequest<Body>) {
        let since = Instant::now();
        self.with(|all| {
            all.idle.retain(|_, idle| {
                idle.retain(|one| one.sender.is_ready() && one.since.elapsed() < WAITS);
                !idle.is_empty()
            });
            let idle = all.idle.entry(key).or_default();
            if idle.len() >= IDLE {
                idle.remove(0);
            }
            idle.push(Idle { sender, since });
        });
    }
}

/// The upstream side of one client's connection.
pub(crate) struct Upstream {
    /// A connection that was begun before the first request was read.
    first: tokio::sync::Mutex<Option<Pending>>,
    /// The connection of the client's last request, which no other client uses.
    own: tokio::sync::Mutex<Option<(Destination, h1::SendRequest<Body>)>>,
}

impl Upstream {
    pub(crate) fn new(first: Option<Pending>) -> Self {
        Self {
            first: tokio::sync::Mutex::new(first),
            own: tokio::sync::Mutex::new(None),
        }
    }

    /// Whether the client's last request went there over a connection that is its own.
    pub(crate) async fn is_at(&self, to: &Destination) -> bool {
        matches!(&*self.own.lock().await, Some((last, _)) if last == to)
    }

    /// Sends a request that was decided.
    pub(crate) async fn send(
        &self,
        context: &Arc<Context>,
        to: &Destination,
        request: Request<Body>,
    ) -> Result<Response<Incoming>, DialError> {
        match to.secure {
            Some(_) => self.send_shared(context, to, request).await,
            None => self.send_own(context, to, request).await,
        }
    }

    /// Over the client's last connection if it is still good, else over a new one.
    async fn send_own(
        &self,
        context: &Arc<Context>,
        to: &Destination,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, DialError> {
        http1::shape(&mut request);
        let mut own = self.own.lock().await;
        if let Some((last, mut sender)) = own.take()
            && last == *to
            && sender.ready().await.is_ok()
        {
            match sender.try_send_request(request).await {
                Ok(response) => {
                    *own = Some((last, sender));
                    return Ok(response);
                }
                // The server had closed it meanwhile; nothing of the request was sent.
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(broken(to, &error.into_error())),
                },
            }
        }
        let stream = match self.first.lock().await.take() {
            Some(pending) => pending.await?,
            None => dial::dial(context.clone(), to.clone()).await?,
        };
        let mut sender = http1::connect(stream).await.map_err(|e| broken(to, &e))?;
        let sent = sender.send_request(request).await;
        let response = sent.map_err(|error| broken(to, &error))?;
        *own = Some((to.clone(), sender));
        Ok(response)
    }

    /// Over a connection that no request uses, or that takes many.
    async fn send_shared(
        &self,
        context: &Arc<Context>,
        to: &Destination,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, DialError> {
        let key = Key::of(to);
        let mut fresh = false;
        loop {
            let sender = match context.pool.take(&key) {
                Some(sender) => sender,
                None => {
                    // Of requests that come at once one dials, and the others wait for what it gets.
                    let mut first = self.first.lock().await;
                    match context.pool.take(&key) {
                        Some(sender @ Sender::Many(_)) => sender,
                        _ => {
                            fresh = true;
                            let pending = first.take();
                            connect(context, to, &key, pending).await?
                        }
                    }
                }
            };
            let unsent = match sender {
                Sender::One(mut sender) => {
                    http1::shape(&mut request);
                    match sender.try_send_request(request).await {
                        Ok(response) => {
                            give_back(context, key, sender);
                            return Ok(response);
                        }
                        Err(error) => error,
                    }
                }
                Sender::Many(mut sender) => {
                    http2::shape(&mut request);
                    if sender.ready().await.is_err() && !fresh {
                        context.pool.with(|all| all.shared.remove(&key));
                        continue;
                    }
                    match sender.try_send_request(request).await {
                        Ok(response) => return Ok(response),
                        Err(error) => error,
                    }
                }
            };
            let mut error = unsent;
            match error.take_message() {
                // It was ended meanwhile; nothing of the request was sent.
                Some(whole) if !fresh => request = whole,
                _ => return Err(broken(to, &error.into_error())),
            }
        }
    }
}

/// A new connection, by the protocol that its server chose.
async fn connect(
    context: &Arc<Context>,
    to: &Destination,
    key: &Key,
    pending: Option<Pending>,
) -> Result<Sender, DialError> {
    let stream = match pending {
        Some(pending) => pending.await?,
        None => dial::dial(context.clone(), to.clone()).await?,
    };
    if stream.protocol() != Some(b"h2") {
        let sender = http1::connect(stream).await.map_err(|e| broken(to, &e))?;
        return Ok(Sender::One(sender));
    }
    let (sender, connection) = http2::writer()
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|e| broken(to, &e))?;
    tokio::spawn(async move { drop(connection.await) });
    let shared = sender.clone();
    context
        .pool
        .with(|all| all.shared.insert(key.clone(), shared));
    Ok(Sender::Many(sender))
}

/// Keeps a connection for the next request, as soon as the answer of this one has come whole.
fn give_back(context: &Arc<Context>, key: Key, mut sender: h1::SendRequest<Body>) {
    let pool = Arc::clone(&context.pool);
    tokio::spawn(async move {
        if sender.ready().await.is_ok() {
            pool.put(key, sender);
        }
    });
}

fn broken(to: &Destination, error: &hyper::Error) -> DialError {
    DialError::Failed {
        kind: io::ErrorKind::InvalidData,
        message: format!("{} gave no proper answer: {error}", to.shown()),
    }
}
