//! Doors for the fuzz targets: the readers of hostile bytes, as the gate calls them.
//!
//! Decision: behind a feature that no product is built with. A reader stays private to everything
//! else, so that no bytes are read without the decision that follows.

mod dns;
mod http;
mod http2;
mod model;
mod passed;
mod wire;

pub use dns::{Dns, Upstream, dns, upstream};
pub use http::http;
pub use http2::http2;
pub use model::{Answer, Question, answer, question, sse};
pub use passed::Request;

use crate::client_hello;
use crate::opening::{self, Opening};
use crate::socket_address::{self, Family};
use crate::socks;
use bailiwick_event::Host;
use std::net::SocketAddr;

/// What the first bytes of a TLS connection hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hello {
    /// A proper beginning of one.
    Incomplete,
    /// Bytes that are no ClientHello, or an ambiguous one.
    Malformed,
    /// A whole one; the name as it stood, if it named one.
    Complete(Option<Vec<u8>>),
}

/// Reads a ClientHello.
#[must_use]
pub fn client_hello(bytes: &[u8]) -> Hello {
    match client_hello::parse(bytes) {
        client_hello::Hello::Incomplete => Hello::Incomplete,
        client_hello::Hello::Malformed => Hello::Malformed,
        client_hello::Hello::Complete(name) => Hello::Complete(name),
    }
}

/// What a connection's first bytes are taken for; none where more are needed. `late`: no more
/// will come.
#[must_use]
pub fn opening(bytes: &[u8], late: bool) -> Option<&'static str> {
    let opening = match late {
        true => Some(opening::read_late(bytes, opening::Reading::Ordinary)),
        false => opening::read(bytes, opening::Reading::Ordinary),
    };
    opening.map(|opening| match opening {
        Opening::Tls(_) => "tls",
        Opening::BadTls => "bad tls",
        Opening::Http => "http",
        Opening::Http2 => "http2",
        Opening::Proxied => "proxied",
        Opening::Other => "other",
    })
}

/// What a SOCKS5 message's bytes hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socks<T> {
    /// More bytes are needed.
    Incomplete,
    /// This, in so many bytes.
    Whole(T, usize),
    /// Nothing that can be granted, and the whole reply.
    Bad([u8; 10]),
}

impl<T> From<socks::Parsed<T>> for Socks<T> {
    fn from(parsed: socks::Parsed<T>) -> Self {
        match parsed {
            socks::Parsed::Incomplete => Self::Incomplete,
            socks::Parsed::Whole(value, length) => Self::Whole(value, length),
            socks::Parsed::Bad(reply) => Self::Bad(reply.bytes()),
        }
    }
}

/// Reads a SOCKS5 greeting.
#[must_use]
pub fn socks_greeting(bytes: &[u8]) -> Socks<bool> {
    socks::greeting(bytes).into()
}

/// Reads a SOCKS5 request.
#[must_use]
pub fn socks_request(bytes: &[u8]) -> Socks<(Host, u16)> {
    socks::request(bytes).into()
}

/// Reads the address that a program gives to `connect` of a socket of IPv4 or IPv6; else the error
/// number.
///
/// # Errors
/// What `connect` is answered where the bytes are no such address.
pub fn address(v6: bool, bytes: &[u8]) -> Result<SocketAddr, i32> {
    let family = if v6 { Family::V6 } else { Family::V4 };
    socket_address::read(family, bytes).map_err(rustix::io::Errno::raw_os_error)
}
