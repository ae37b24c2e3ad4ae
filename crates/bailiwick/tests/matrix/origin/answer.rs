//! One request, written down and answered.

use super::pieces::Pieces;
use super::{EVENTS, HEADERS, Served, grpc, model, site, websocket};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::http::{HeaderMap, HeaderValue, header};
use hyper::{Method, Request, Response};
use std::convert::Infallible;
use std::sync::Arc;

pub(super) type Answer = Response<BoxBody<Bytes, Infallible>>;

pub(super) async fn answer(
    served: Arc<Served>,
    alpn: String,
    mut request: Request<Incoming>,
) -> Result<Answer, hyper::Error> {
    let upgrade = hyper::upgrade::on(&mut request);
    let (parts, body) = request.into_parts();
    let number = served.log.request(alpn, &parts);
    let answer = match parts.uri.path() {
        "/websocket" => {
            served.log.body(number, b"");
            websocket::answer(&parts, upgrade)
        }
        "/echo.Echo/Talk" => grpc::talk(Arc::clone(&served), number, body),
        _ => {
            let body = body.collect().await?.to_bytes();
            served.log.body(number, &body);
            whole(&served, parts, body).await
        }
    };
    served.log.status(number, answer.status().as_u16());
    Ok(answer)
}

/// The answer to a request that has come whole.
async fn whole(served: &Arc<Served>, parts: Parts, body: Bytes) -> Answer {
    let owned = Arc::clone(served);
    match (&parts.method, parts.uri.path()) {
        (&Method::GET, "/large") => large(served, &parts.headers),
        (&Method::HEAD, "/large") => head(served),
        (&Method::GET, "/gzip") => gzip(served, &parts.headers),
        (&Method::GET, "/chunked") => chunked(owned),
        (&Method::GET, "/headers") => headers(),
        (&Method::POST, "/echo") => full(200, body),
        (&Method::GET, "/events") => events(owned),
        (&Method::POST, "/seen") => {
            served.saw();
            full(204, Bytes::new())
        }
        (&Method::POST, path) if path.starts_with("/echo.Echo/") => grpc::answer(owned, path, body),
        (&Method::POST, path) if path.starts_with("/v1/") => model::answer(owned, path, &body),
        (&Method::HEAD, _) => {
            let answer = site::answer(served, parts, body).await;
            answer.map(|_| Full::default().boxed())
        }
        _ => site::answer(served, parts, body).await,
    }
}

/// Headers that are easily lost: twice, empty, not in ASCII, long.
fn headers() -> Answer {
    let mut answer = full(203, "");
    for (name, value) in HEADERS {
        let value = match value {
            "long" => "0123456789".repeat(1_000).into_bytes(),
            short => short.as_bytes().to_vec(),
        };
        let value = HeaderValue::from_bytes(&value).unwrap();
        answer.headers_mut().append(name, value);
    }
    answer
}

pub(super) fn full(status: u16, body: impl Into<Bytes>) -> Answer {
    let body = Full::new(body.into()).boxed();
    let answer = Response::builder().status(status);
    answer.body(body).unwrap()
}

/// An answer that is sent piece by piece.
pub(super) fn streamed(kind: &'static str, pieces: Pieces) -> Answer {
    let mut answer = Response::new(pieces.boxed());
    let kind = HeaderValue::from_static(kind);
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

/// The whole, or the one range that was asked for.
fn large(served: &Served, headers: &HeaderMap) -> Answer {
    let range = headers.get(header::RANGE).and_then(|v| v.to_str().ok());
    let Some((from, to)) = range.and_then(|r| r.strip_prefix("bytes=")?.split_once('-')) else {
        return full(200, served.large.clone());
    };
    let last = served.large.len() - 1;
    let (from, to) = (from.parse().unwrap(), to.parse().unwrap_or(last));
    let mut answer = full(206, served.large[from..=to].to_vec());
    let said = format!("bytes {from}-{to}/{}", last + 1);
    answer
        .headers_mut()
        .insert(header::CONTENT_RANGE, said.parse().unwrap());
    answer
}

/// hyper would send a body in HTTP/2.
fn head(served: &Served) -> Answer {
    let mut answer = full(200, "");
    let length = HeaderValue::from(served.large.len());
    answer.headers_mut().insert(header::CONTENT_LENGTH, length);
    answer
}

fn gzip(served: &Served, headers: &HeaderMap) -> Answer {
    let asked = headers.get(header::ACCEPT_ENCODING);
    if !asked.is_some_and(|v| v.to_str().unwrap().contains("gzip")) {
        return full(406, "the client did not ask for gzip\n");
    }
    let mut answer = full(200, served.gzip.clone());
    let gzip = HeaderValue::from_static("gzip");
    answer.headers_mut().insert(header::CONTENT_ENCODING, gzip);
    answer
}

/// Without a length.
fn chunked(served: Arc<Served>) -> Answer {
    let (sender, pieces) = Pieces::new();
    tokio::spawn(async move {
        for piece in served.large.chunks(10_007) {
            sender.data(piece.to_vec()).await;
        }
    });
    streamed("application/octet-stream", pieces)
}

/// Server-sent events.
fn events(served: Arc<Served>) -> Answer {
    let (sender, pieces) = Pieces::new();
    tokio::spawn(async move {
        sender.data(format!("data: {}\n\n", EVENTS[0])).await;
        sender
            .data(format!("data: {}\n\n", served.last().await))
            .await;
    });
    streamed("text/event-stream", pieces)
}
