//! HTTP/2 on the wire: how requests are read from a client and written to a server.
//!
//! Decision: the windows are what one connection can make the gate hold, so that they are as large
//! as a download needs and no larger; what a client may ask for at once is bounded, and so is what it
//! may reset (the rapid reset of CVE-2023-44487).

use crate::http1::MAX_HEAD;
use hyper::header::{CONNECTION, HOST, HeaderMap, TRANSFER_ENCODING, UPGRADE};
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Request, Uri, Version, client, server};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::time::Duration;

/// Bytes of one stream, and of all streams of a connection, that are sent before they are taken.
const STREAM_WINDOW: u32 = 1024 * 1024;
const WINDOW: u32 = 4 * 1024 * 1024;
/// Bytes of a frame.
const FRAME: u32 = 64 * 1024;
/// Requests at one time.
const STREAMS: u32 = 256;
/// Streams that a client has reset and that are not yet forgotten.
const RESET: usize = 64;
/// How often a client or server that says nothing is asked whether it is there, and how long it may
/// take.
const ASK: Duration = Duration::from_secs(60);
const ASK_SERVER: Duration = Duration::from_secs(20);
const ANSWER: Duration = Duration::from_secs(20);

/// How a client's requests are read.
pub(crate) fn reader() -> server::conn::http2::Builder<TokioExecutor> {
    let mut reader = server::conn::http2::Builder::new(TokioExecutor::new());
    reader
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_frame_size(FRAME)
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(MAX_HEAD as u32)
        .max_pending_accept_reset_streams(RESET)
        .max_local_error_reset_streams(RESET)
        .keep_alive_interval(ASK)
        .keep_alive_timeout(ANSWER)
        .auto_date_header(false);
    reader
}

/// How requests are written to a server.
pub(crate) fn writer() -> client::conn::http2::Builder<TokioExecutor> {
    let mut writer = client::conn::http2::Builder::new(TokioExecutor::new());
    writer
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_frame_size(FRAME)
        .max_header_list_size(MAX_HEAD as u32)
        .keep_alive_interval(ASK_SERVER)
        .keep_alive_timeout(ANSWER);
    writer
}

/// Gives a request, whatever it came by, the form that it has in HTTP/2.
pub(crate) fn shape<B>(request: &mut Request<B>) {
    *request.version_mut() = Version::HTTP_2;
    let host = request.headers_mut().remove(HOST);
    let mut parts = request.uri().clone().into_parts();
    parts.scheme = Some(Scheme::HTTPS);
    if parts.authority.is_none() {
        let host = host.as_ref().and_then(|host| host.to_str().ok());
        parts.authority = host.and_then(|host| host.parse::<Authority>().ok());
    }
    if parts.path_and_query.is_none() {
        parts.path_and_query = Some(PathAndQuery::from_static("/"));
    }
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    clean(request.headers_mut());
}

/// Takes away what speaks about a connection of HTTP/1.1 and is malformed here (RFC 9113 §8.2.2).
fn clean(headers: &mut HeaderMap) {
    for name in [CONNECTION, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
}
