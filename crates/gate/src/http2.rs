//! HTTP/2 on the wire: how requests are read from a client and written to a server.
//!
//! Decision: the windows are what one connection can make the gate hold, so that they are as large
//! as a download needs and no larger, and all connections together have a bound: the more there are,
//! the smaller are the windows of the next. What a client may ask for at once is bounded, and so is what it
//! may reset (the rapid reset of CVE-2023-44487).

use crate::body::Room;
use crate::http1::MAX_HEAD;
use crate::share::Share;
use hyper::header::{CONNECTION, HOST, HeaderMap, TRANSFER_ENCODING, UPGRADE};
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Request, Uri, Version, client, server};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Bytes of all streams of a connection that a client, or a server, sends before they are taken. What
/// a server sends is on its way for longer.
const FROM_CLIENT: u32 = 1024 * 1024;
const FROM_SERVER: u32 = 4 * 1024 * 1024;
/// What every connection has, whatever there is room for (RFC 9113 §6.9.2).
const LEAST: u32 = 65_535;
/// Bytes of one stream that wait to be written.
const UNWRITTEN: usize = 128 * 1024;
/// Bytes of a frame.
const FRAME: u32 = 64 * 1024;
/// Requests at one time.
const STREAMS: u32 = 256;
/// Streams that a client has reset and that are not yet forgotten.
const RESET: usize = 64;
/// How often a client or server that says nothing is asked whether it is there, and how long it may
/// take.
const ASK: Duration = Duration::from_secs(60);
/// Servers of gRPC end the connection of a client that asks more than once in five minutes.
const ASK_SERVER: Duration = Duration::from_secs(330);
const ANSWER: Duration = Duration::from_secs(20);

/// What a connection's other side may send before it is taken.
pub(crate) struct Window {
    size: u32,
    /// As long as the connection is there.
    _share: Share,
}

impl Window {
    /// For a connection to a client.
    pub(crate) fn from_client(room: &Room) -> Self {
        Self::new(&room.uploads, FROM_CLIENT)
    }

    /// For a connection to a server.
    pub(crate) fn from_server(room: &Room) -> Self {
        Self::new(&room.downloads, FROM_SERVER)
    }

    /// An eighth of what is left, so that nobody takes the last of it.
    fn new(room: &Arc<Semaphore>, most: u32) -> Self {
        let mut share = Share::of(room);
        let eighth = u32::try_from(room.available_permits() / 8).unwrap_or(most);
        let size = eighth.min(most);
        let size = match size > LEAST && share.hold(size as usize) {
            true => size,
            false => LEAST,
        };
        Self {
            size,
            _share: share,
        }
    }

    /// Of one stream: one that nobody reads leaves some to the others.
    fn stream(&self) -> u32 {
        (self.size / 4).max(LEAST)
    }
}

/// How a client's requests are read.
pub(crate) fn reader(window: &Window) -> server::conn::http2::Builder<TokioExecutor> {
    let mut reader = server::conn::http2::Builder::new(TokioExecutor::new());
    reader
        .timer(TokioTimer::new())
        .initial_stream_window_size(window.stream())
        .initial_connection_window_size(window.size)
        .max_frame_size(FRAME)
        .max_send_buf_size(UNWRITTEN)
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
pub(crate) fn writer(window: &Window) -> client::conn::http2::Builder<TokioExecutor> {
    let mut writer = client::conn::http2::Builder::new(TokioExecutor::new());
    writer
        .timer(TokioTimer::new())
        .initial_stream_window_size(window.stream())
        .initial_connection_window_size(window.size)
        .max_frame_size(FRAME)
        .max_send_buf_size(UNWRITTEN)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_connections_may_make_the_gate_hold_has_one_bound() {
        let room = Room::new(0);
        let all = room.uploads.available_permits();
        let first = Window::from_client(&room);
        assert_eq!((first.size, first.stream()), (1 << 20, 256 << 10));
        let many: Vec<_> = (0..12_000).map(|_| Window::from_client(&room)).collect();
        let above = |window: &&Window| window.size > LEAST;
        let held: usize = many.iter().filter(above).map(|w| w.size as usize).sum();
        assert!(held <= all, "{held}");
        assert!(many[11_999].size == LEAST && many[40].size > 500_000);
        assert_eq!(Window::from_server(&room).size, 4 << 20);
        drop((first, many));
        assert_eq!(room.uploads.available_permits(), all);
    }
}
