//! One HTTP request in memory, rewritten and written as the gate does it between two sockets.

use super::wire::Wire;
use crate::body::Room;
use crate::destination::Destination;
use crate::http_asked::{self, Asked, Form};
use crate::http2::{self, Window};
use crate::{http_serve, http1};
use bailiwick_event::{Host, Scheme, Via};
use http_body_util::BodyExt;
use hyper::Method;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::HeaderMap;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::PoisonError;
use std::task::{Context, Poll};

/// How often what writes to a server is asked again.
const TURNS: usize = 4;

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
    /// The bytes that a server of HTTP/1.1 gets; none where nothing is forwarded (CONNECT, or a
    /// body that is not whole).
    pub sent: Option<Vec<u8>>,
    /// The bytes that a server of HTTP/2 gets, which there is within TLS alone.
    pub sent_http2: Option<Vec<u8>>,
}

/// What becomes of a request; as [`http_serve`] goes on after its decision.
pub(super) async fn read(
    request: hyper::Request<Incoming>,
    scheme: Scheme,
    proxied: bool,
) -> Option<Request> {
    let asked = http_asked::read(&request, scheme).ok()?;
    if matches!(
        (proxied, asked.form),
        (true, Form::Origin) | (false, Form::Authority)
    ) {
        return None;
    }
    let method = request.method().clone();
    let (parts, body) = request.into_parts();
    let size = body.size_hint();
    let body = body.collect().await.ok();
    let body = body.map(|all| (all.trailers().cloned(), all.to_bytes()));
    let (mut sent, mut sent_http2) = (None, None);
    if let Some(body) = &body
        && method != Method::CONNECT
    {
        let again = || hyper::Request::from_parts(parts.clone(), Whole::new(body.clone(), size));
        let mut request = again();
        rewrite(&mut request, &asked, scheme, proxied);
        http1::shape(&mut request);
        sent = by_http1(request).await;
        if scheme == Scheme::Https {
            let mut request = again();
            rewrite(&mut request, &asked, scheme, proxied);
            http2::shape(&mut request);
            sent_http2 = by_http2(request).await;
        }
    }
    Some(Request {
        method: method.to_string(),
        host: asked.host,
        path: asked.path,
        body: body.map(|(_, bytes)| bytes.to_vec()),
        sent,
        sent_http2,
    })
}

fn rewrite(request: &mut hyper::Request<Whole>, asked: &Asked, scheme: Scheme, proxied: bool) {
    let to = Destination {
        host: Host::Name("connected.test".to_owned()),
        address: None,
        port: scheme.port(),
        via: Via::Proxy,
        secure: None,
    };
    let host = asked.host.as_ref().map_or(&to.host, |(host, _)| host);
    let _ = http_serve::rewrite(request, asked, host, &to, proxied);
}

/// The bytes that a server of HTTP/1.1 gets.
async fn by_http1(request: hyper::Request<Whole>) -> Option<Vec<u8>> {
    let server = Wire::new(Vec::new(), false);
    let written = server.written.clone();
    let (mut sender, connection) = http1::writer().handshake(TokioIo::new(server)).await.ok()?;
    // No answer comes: the connection has nothing left to do when all is written.
    let mut pending = pin!(sender.send_request(request));
    let mut connection = pin!(connection);
    std::future::poll_fn(|cx| {
        let _ = pending.as_mut().poll(cx);
        let _ = connection.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
    let bytes = written.lock().unwrap_or_else(PoisonError::into_inner);
    Some(bytes.clone())
}

/// The bytes that a server of HTTP/2 gets.
async fn by_http2(request: hyper::Request<Whole>) -> Option<Vec<u8>> {
    let server = Wire::new(Vec::new(), false);
    let written = server.written.clone();
    let window = Window::from_server(&Room::new(0));
    let (mut sender, connection) = http2::writer(&window)
        .handshake(TokioIo::new(server))
        .await
        .ok()?;
    let mut pending = pin!(sender.send_request(request));
    let mut connection = pin!(connection);
    for _ in 0..TURNS {
        std::future::poll_fn(|cx| {
            let _ = pending.as_mut().poll(cx);
            let _ = connection.as_mut().poll(cx);
            Poll::Ready(())
        })
        .await;
        // The body is written by a task of its own.
        tokio::task::yield_now().await;
    }
    let bytes = written.lock().unwrap_or_else(PoisonError::into_inner);
    Some(bytes.clone())
}

/// A body that says as much of its length as the one that it was read from.
struct Whole {
    data: Option<Bytes>,
    trailers: Option<HeaderMap>,
    size: SizeHint,
}

impl Whole {
    fn new((trailers, data): (Option<HeaderMap>, Bytes), size: SizeHint) -> Self {
        Self {
            data: Some(data).filter(|bytes| !bytes.is_empty()),
            trailers,
            size,
        }
    }
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(data) = self.data.take() {
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        let trailers = self.trailers.take();
        Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.size.exact() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.size
    }
}
