//! Requests on connections to servers: within TLS on one that all clients share, in the clear on one
//! that is the client's own.

use crate::body::Body;
use crate::context::Context;
use crate::destination::Destination;
use crate::dial::{self, DialError, Pending};
use crate::http1;
use crate::http2::{self, Window};
use crate::pool::{Key, Sender};
use hyper::body::Incoming;
use hyper::client::conn::http1 as h1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::io;
use std::sync::Arc;

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
            None => Box::pin(dial::dial(context.clone(), to.clone())).await?,
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
        loop {
            let (sender, fresh) = self.sender(context, to, &key).await?;
            let mut unsent = match sender {
                Sender::One(mut lent) => {
                    http1::shape(&mut request);
                    match lent.sender.try_send_request(request).await {
                        Ok(response) => {
                            lent.give_back();
                            return Ok(response);
                        }
                        Err(error) => error,
                    }
                }
                Sender::Many(mut sender) => {
                    http2::shape(&mut request);
                    if sender.ready().await.is_err() && !fresh {
                        context.pool.forget(&key);
                        continue;
                    }
                    match sender.try_send_request(request).await {
                        Ok(response) => return Ok(response),
                        Err(error) => error,
                    }
                }
            };
            match unsent.take_message() {
                // It was ended meanwhile; nothing of the request was sent.
                Some(whole) if !fresh => request = whole,
                _ => return Err(broken(to, &unsent.into_error())),
            }
        }
    }

    /// A connection for a request, and whether it is a new one.
    async fn sender(
        &self,
        context: &Arc<Context>,
        to: &Destination,
        key: &Key,
    ) -> Result<(Sender, bool), DialError> {
        if let Some(sender) = context.pool.take(key) {
            return Ok((sender, false));
        }
        // Of a client's requests that come at once one dials, and the others wait for what it gets.
        let mut first = self.first.lock().await;
        if let Some(sender) = context.pool.take(key) {
            return Ok((sender, false));
        }
        let pending = first.take();
        if pending.is_none()
            && let Some(sender) = context.pool.wait(key).await
        {
            return Ok((sender, false));
        }
        // Boxed, because most requests need none.
        let sender = Box::pin(connect(context, to, key, pending)).await?;
        Ok((sender, true))
    }
}

/// A new connection, by the protocol that its server chose.
async fn connect(
    context: &Arc<Context>,
    to: &Destination,
    key: &Key,
    pending: Option<Pending>,
) -> Result<Sender, DialError> {
    let place = context.pool.begin(key);
    let stream = match pending {
        Some(pending) => pending.await?,
        None => dial::dial(context.clone(), to.clone()).await?,
    };
    if stream.protocol() != Some(b"h2") {
        let sender = http1::connect(stream).await.map_err(|e| broken(to, &e))?;
        return Ok(Sender::One(place.lend(sender)));
    }
    let window = Window::from_server(&context.room);
    let (sender, connection) = http2::writer(&window)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|e| broken(to, &e))?;
    tokio::spawn(async move {
        drop(connection.await);
        drop(window);
    });
    context.pool.share(key, sender.clone());
    Ok(Sender::Many(sender))
}

fn broken(to: &Destination, error: &hyper::Error) -> DialError {
    DialError::Failed {
        kind: io::ErrorKind::InvalidData,
        message: format!("{} gave no proper answer: {error}", to.shown()),
    }
}
