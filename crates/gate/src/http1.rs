//! HTTP/1.1 on the wire: how requests are read from a client and written to a server.

use crate::body::Body;
use crate::prefixed::Prefixed;
use hyper::client::conn::http1::{self as client, SendRequest};
use hyper::header::{CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use hyper::{Request, Uri, Version, server};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::time::Duration;

/// Bytes of a request's or an answer's head, and of what one direction buffers.
pub(crate) const MAX_HEAD: usize = 64 * 1024;
/// Headers of a request or an answer.
pub(crate) const MAX_HEADERS: usize = 100;
/// How long a client may take for a request's head, or stay silent between two requests.
const HEAD: Duration = Duration::from_secs(30);

/// How a client's requests are read.
pub(crate) fn reader() -> server::conn::http1::Builder {
    let mut reader = server::conn::http1::Builder::new();
    reader
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEAD)
        .max_buf_size(MAX_HEAD)
        .preserve_header_case(true)
        .auto_date_header(false)
        // A client that has said all may end its direction and still wants the answer.
        .half_close(true);
    reader
}

/// How requests are written to a server.
pub(crate) fn writer() -> client::Builder {
    let mut writer = client::Builder::new();
    writer
        .max_header_size(MAX_HEAD)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .preserve_header_case(true);
    writer
}

/// A connection that can take requests. It ends with what is returned, or with the server; its
/// errors reach the request.
pub(crate) async fn connect(stream: Prefixed) -> hyper::Result<SendRequest<Body>> {
    let (sender, connection) = writer().handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move { drop(connection.with_upgrades().await) });
    Ok(sender)
}

/// Gives a request, whatever it came by, the form that it has in HTTP/1.1.
pub(crate) fn shape<B: hyper::body::Body>(request: &mut Request<B>) {
    *request.version_mut() = Version::HTTP_11;
    // Said here, because a GET would lose a body whose length nobody says.
    let unsaid = request.body().size_hint().exact().is_none();
    let headers = request.headers_mut();
    if unsaid && !headers.contains_key(CONTENT_LENGTH) {
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    join_cookies(headers);
    let Some(authority) = request.uri().authority() else {
        return;
    };
    if !request.headers().contains_key(HOST)
        && let Ok(value) = HeaderValue::from_str(authority.as_str())
    {
        request.headers_mut().insert(HOST, value);
    }
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
}

/// HTTP/2 says the parts of a cookie one by one; here they are one header (RFC 9113 §8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let parts: Vec<&[u8]> = headers
        .get_all(COOKIE)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if parts.len() > 1
        && let Ok(cookie) = HeaderValue::from_bytes(&parts.join(&b"; "[..]))
    {
        headers.insert(COOKIE, cookie);
    }
}

#[cfg(test)]
#[path = "http1_tests.rs"]
mod tests;
