//! What a request asks for, in one reading. A request that names its host twice, in two ways, or
//! not at all is refused as malformed: the server behind could answer to the other name.

use crate::http1::MAX_HEADERS;
use crate::opening::is_token;
use bailiwick_event::{Host, HostError, Scheme};
use hyper::header::{
    CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Version};
use std::fmt;

/// The form of a request's target (RFC 9112 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `/path`, or `*`.
    Origin,
    /// `http://host/path`.
    Absolute,
    /// `host:port`, of `CONNECT`.
    Authority,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) form: Form,
    /// The host and port that it names; none in HTTP/1.0 without a Host header.
    pub(crate) host: Option<(Host, Option<u16>)>,
    /// Path and query.
    pub(crate) path: String,
}

/// Why a request is malformed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    NoHost,
    TwoHosts,
    HostIsNoText,
    Host(HostError),
    Port,
    UserInfo,
    Disagree,
    Scheme(String),
    NotWithinTls(String),
    Target,
    Coding,
    Length,
    HeaderName(String),
    Headers,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHost => f.write_str("an HTTP/1.1 request needs a Host header"),
            Self::TwoHosts => f.write_str("a request has one Host header, not several"),
            Self::HostIsNoText => f.write_str("the Host header is no ASCII text"),
            Self::Host(error) => write!(f, "the host cannot be read: {error}"),
            Self::Port => f.write_str("the port is no number from 1 to 65535"),
            Self::UserInfo => f.write_str("a user name has no place before the host"),
            Self::Disagree => f.write_str("the URI and the Host header name different hosts"),
            Self::Scheme(scheme) => write!(
                f,
                "the proxy takes http:// URIs; for {scheme}:// open a tunnel with CONNECT"
            ),
            Self::NotWithinTls(scheme) => {
                write!(
                    f,
                    "requests within TLS are for https:// URIs, not for {scheme}://"
                )
            }
            Self::Target => f.write_str("the request's target is neither a path nor a URI"),
            Self::Coding => f.write_str("the only transfer coding is \"chunked\""),
            Self::Length => f.write_str("the Content-Length is one number, said once"),
            Self::HeaderName(name) => write!(f, "\"{name}\" is no name of a header"),
            Self::Headers => write!(f, "a request has at most {MAX_HEADERS} headers"),
        }
    }
}

/// Reads a request that is sent by `scheme`.
pub(crate) fn read<B>(request: &Request<B>, scheme: Scheme) -> Result<Asked, Bad> {
    let uri = request.uri();
    if request.version() == Version::HTTP_2 {
        check_names(request.headers())?;
    }
    check_coding(request.headers())?;
    check_length(request.headers())?;
    let header = host_header(request.headers(), request.version())?;
    let target = match uri.authority() {
        Some(authority) => Some(named(authority)?),
        None => None,
    };
    let form = match (target.is_some(), uri.scheme_str()) {
        (true, None) if request.method() == Method::CONNECT => Form::Authority,
        (true, Some(said)) if said == scheme.name() && request.method() != Method::CONNECT => {
            Form::Absolute
        }
        (true, Some(said)) => {
            let said = said.to_owned();
            return Err(match scheme {
                Scheme::Http => Bad::Scheme(said),
                Scheme::Https => Bad::NotWithinTls(said),
            });
        }
        (false, None) if request.method() != Method::CONNECT => Form::Origin,
        _ => return Err(Bad::Target),
    };
    let host = match (target, header) {
        (Some(target), Some(header)) => {
            let default = match form {
                Form::Absolute => scheme.port(),
                _ => Scheme::Https.port(),
            };
            let port = |port: Option<u16>| port.unwrap_or(default);
            // Clients differ in whether the Host header of CONNECT has a port.
            let same = target.0 == header.0
                && (port(target.1) == port(header.1) || form == Form::Authority);
            if !same {
                return Err(Bad::Disagree);
            }
            Some(target)
        }
        (Some(target), None) => Some(target),
        // In HTTP/2 the target names it, or a header.
        (None, None) if request.version() == Version::HTTP_2 => return Err(Bad::NoHost),
        (None, header) => header,
    };
    // `http://host?query` has the path `/`, which a rule for `/` and a server must both see.
    let path = match uri.query() {
        Some(query) => format!("{}?{query}", uri.path()),
        None => uri.path().to_owned(),
    };
    let path = if path.is_empty() { "/".into() } else { path };
    Ok(Asked { form, host, path })
}

/// Another coding than `chunked` would have to be undone to re-frame the body; nothing sends it.
pub(crate) fn check_coding(headers: &HeaderMap) -> Result<(), Bad> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(coding), None) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => Err(Bad::Coding),
    }
}

/// In HTTP/2 more of them are taken than in HTTP/1.1, and names that are none there.
fn check_names(headers: &HeaderMap) -> Result<(), Bad> {
    // Cookies may come in pieces (RFC 9113 §8.2.3).
    let pieces = headers.get_all(COOKIE).iter().count();
    if headers.len() - pieces.saturating_sub(1) > MAX_HEADERS {
        return Err(Bad::Headers);
    }
    let mut names = headers.keys().map(HeaderName::as_str);
    match names.find(|name| !name.bytes().all(is_token)) {
        Some(name) => Err(Bad::HeaderName(name.escape_debug().to_string())),
        None => Ok(()),
    }
}

/// In HTTP/2 several that agree and an empty one are taken, and would be sent as they came.
fn check_length(headers: &HeaderMap) -> Result<(), Bad> {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let is_number = |length: &HeaderValue| {
        !length.is_empty() && length.as_bytes().iter().all(u8::is_ascii_digit)
    };
    match (lengths.next(), lengths.next()) {
        (None, _) => Ok(()),
        (Some(length), None) if is_number(length) => Ok(()),
        _ => Err(Bad::Length),
    }
}

fn host_header(headers: &HeaderMap, version: Version) -> Result<Option<(Host, Option<u16>)>, Bad> {
    let mut values = headers.get_all(HOST).iter();
    match (values.next(), values.next()) {
        (None, _) if version != Version::HTTP_11 => Ok(None),
        (None, _) => Err(Bad::NoHost),
        (Some(_), Some(_)) => Err(Bad::TwoHosts),
        (Some(value), None) => {
            let text = value.to_str().map_err(|_| Bad::HostIsNoText)?;
            host_and_port(text).map(Some)
        }
    }
}

fn named(authority: &Authority) -> Result<(Host, Option<u16>), Bad> {
    if authority.as_str().contains('@') {
        return Err(Bad::UserInfo);
    }
    host_and_port(authority.as_str())
}

/// Reads `host`, `host:port` or `[v6]:port`.
fn host_and_port(text: &str) -> Result<(Host, Option<u16>), Bad> {
    let end = text.rfind(']').map_or(0, |i| i + 1);
    let (host, port) = match text[end..].find(':') {
        Some(i) => (&text[..end + i], Some(&text[end + i + 1..])),
        None => (text, None),
    };
    let port = match port {
        None | Some("") => None,
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
            Some(digits.parse().ok().filter(|p| *p != 0).ok_or(Bad::Port)?)
        }
        Some(_) => return Err(Bad::Port),
    };
    Ok((Host::parse(host).map_err(Bad::Host)?, port))
}

#[cfg(test)]
#[path = "http_asked_tests.rs"]
mod tests;
