//! One HTTP request in memory, read, rewritten and written as the gate does it between two
//! sockets.

use crate::destination::Destination;
use crate::http_asked::{self, Asked, Form};
use crate::{http_serve, http1};
use bailiwick_event::{Host, Scheme, Via};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper::{Method, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A request that the gate took as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What a rule is asked about.
    pub method: String,
    /// The host and port that the request names.
    pub host: Option<(Host, Option<u16>)>,
    /// Path and query.
    pub path: String,
    /// The body, where it came whole.
    pub body: Option<Vec<u8>>,
    /// The bytes that a server gets; none where nothing is forwarded (CONNECT, or a body that is
    /// not whole).
    pub sent: Option<Vec<u8>>,
}

/// Reads the first request of a connection and what the gate makes of it; none where it was
/// refused as malformed or is not whole.
#[must_use]
pub fn http(bytes: &[u8], proxied: bool) -> Option<Request> {
    thread_local! {
        static RUNTIME: Option<tokio::runtime::Runtime> =
            tokio::runtime::Builder::new_current_thread().enable_time().build().ok();
    }
    RUNTIME.with(|runtime| runtime.as_ref()?.block_on(read(bytes, proxied)))
}

async fn read(bytes: &[u8], proxied: bool) -> Option<Request> {
    let found = Arc::new(Mutex::new(None));
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let found = found.clone();
        async move {
            let first = || found.lock().unwrap_or_else(PoisonError::into_inner);
            if first().is_none() {
                let read = one(request, proxied).await;
                *first() = Some(read);
            }
            let mut response = Response::new(Full::<Bytes>::default());
            let close = hyper::header::HeaderValue::from_static("close");
            response
                .headers_mut()
                .insert(hyper::header::CONNECTION, close);
            Ok::<_, Infallible>(response)
        }
    });
    let client = Wire::new(bytes.to_vec(), true);
    let _ = http1::reader()
        .serve_connection(TokioIo::new(client), service)
        .await;
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    found.take().flatten()
}

/// What becomes of a request; as [`http_serve`] goes on after its decision.
async fn one(request: hyper::Request<Incoming>, proxied: bool) -> Option<Request> {
    let asked = http_asked::read(&request, Scheme::Http).ok()?;
    if matches!(
        (proxied, asked.form),
        (true, Form::Origin) | (false, Form::Authority)
    ) {
        return None;
    }
    let method = request.method().clone();
    let (parts, body) = request.into_parts();
    let size = body.size_hint();
    let body = body.collect().await.ok().map(|all| all.to_bytes());
    let sent = match &body {
        Some(bytes) if method != Method::CONNECT => {
            let body = Whole(Some(bytes.clone()), size);
            let request = hyper::Request::from_parts(parts, body);
            sent(request, &asked, proxied).await
        }
        _ => None,
    };
    Some(Request {
        method: method.to_string(),
        host: asked.host,
        path: asked.path,
        body: body.map(|bytes| bytes.to_vec()),
        sent,
    })
}

/// The bytes that a server gets.
async fn sent(mut request: hyper::Request<Whole>, asked: &Asked, proxied: bool) -> Option<Vec<u8>> {
    let to = Destination {
        host: Host::Name("connected.test".to_owned()),
        address: None,
        port: 80,
        via: Via::Proxy,
        secure: None,
    };
    let host = asked.host.as_ref().map_or(&to.host, |(host, _)| host);
    let _ = http_serve::rewrite(&mut request, asked, host, &to, proxied);
    let server = Wire::new(Vec::new(), false);
    let written = server.written.clone();
    let (mut sender, connection) = http1::writer().handshake(TokioIo::new(server)).await.ok()?;
    // No answer comes: the connection has nothing left to do when all is written.
    let mut pending = Box::pin(sender.send_request(request));
    let mut connection = Box::pin(connection);
    std::future::poll_fn(|cx| {
        let _ = pending.as_mut().poll(cx);
        let _ = connection.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
    let bytes = written.lock().unwrap_or_else(PoisonError::into_inner);
    Some(bytes.clone())
}

/// A body that says as much of its length as the one that it was read from.
struct Whole(Option<Bytes>, SizeHint);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = self.0.take().filter(|bytes| !bytes.is_empty());
        Poll::Ready(data.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.1.exact() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.1
    }
}

/// A peer that has said everything, or says nothing, and remembers what it hears.
struct Wire {
    said: Vec<u8>,
    at: usize,
    ends: bool,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Wire {
    fn new(said: Vec<u8>, ends: bool) -> Self {
        Self {
            said,
            at: 0,
            ends,
            written: Arc::default(),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = &self.said[self.at..];
        if rest.is_empty() && !self.ends {
            return Poll::Pending;
        }
        let n = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..n]);
        self.at += n;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
