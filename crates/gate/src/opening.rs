//! Tells what a client's first bytes are. The doubt goes to the stricter reading: what some HTTP
//! server could take for a request is HTTP (and then has to be a proper one), so that a blank
//! line or a strange method does not carry a request past its decision.

use crate::client_hello::{self, Hello};

/// The most first bytes that are looked at before a reading is forced.
pub(crate) const MAX_OPENING: usize = 64 * 1024;

/// What a connection's first bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// A TLS ClientHello, and the name in it.
    Tls(Option<Vec<u8>>),
    /// A TLS record that is no proper ClientHello.
    BadTls,
    /// A request of HTTP/1, or something that may be taken for one.
    Http,
    /// HTTP/2 without TLS.
    Http2,
    /// The header of the PROXY protocol: what follows it is what a server reads first.
    Proxied,
    /// None of these.
    Other,
}

const H2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n";
/// How the two versions of the PROXY protocol begin (proxy-protocol.txt §2).
const PROXY_HEADERS: [&[u8]; 2] = [b"PROXY ", b"\r\n\r\n\0\r\nQUIT\n"];
/// Methods whose target is looked at even where the line names no version (HTTP/0.9).
const METHODS: [&[u8]; 9] = [
    b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"CONNECT", b"OPTIONS", b"TRACE", b"PATCH",
];

/// No server knows a method that is longer.
const MAX_METHOD: usize = 128;

/// How much is taken for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// What an ordinary server could take for one.
    Ordinary,
    /// What any server could: a rule is about requests, and what is not read as one passes unasked.
    Strict,
}

/// Reads the first bytes; `None` where more of them are needed.
pub(crate) fn read(bytes: &[u8], reading: Reading) -> Option<Opening> {
    match bytes {
        [] | [22] => return None,
        [22, 3, ..] => {
            return match client_hello::parse(bytes) {
                Hello::Incomplete => None,
                Hello::Malformed => Some(Opening::BadTls),
                Hello::Complete(name) => Some(Opening::Tls(name)),
            };
        }
        // A hello in the frame of SSL 2, which names nobody.
        [first, _, 1, 3, ..] if first & 0x80 != 0 => return Some(Opening::BadTls),
        [first] | [first, _] | [first, _, 1] if first & 0x80 != 0 => return None,
        _ => {}
    }
    if bytes.starts_with(H2_PREFACE) {
        return Some(Opening::Http2);
    }
    if H2_PREFACE.starts_with(bytes) {
        return None;
    }
    if is_proxied(bytes) {
        return Some(Opening::Proxied);
    }
    if is_begun(bytes) {
        return None;
    }
    read_line(bytes, reading)
}

/// The reading where no more bytes will be waited for.
pub(crate) fn read_late(bytes: &[u8], reading: Reading) -> Opening {
    match bytes {
        [] => Opening::Other,
        // The first byte of a TLS record alone: the rest would carry its name past the check.
        [22] | [22, 3, ..] => Opening::BadTls,
        _ if is_proxied(bytes) || is_begun(bytes) => Opening::Proxied,
        _ => read_line(bytes, reading).unwrap_or(Opening::Http),
    }
}

/// Whether these begin with a header of the PROXY protocol.
fn is_proxied(bytes: &[u8]) -> bool {
    PROXY_HEADERS.iter().any(|header| bytes.starts_with(header))
}

/// Whether these may become a header of the PROXY protocol's second version, and nothing else.
fn is_begun(bytes: &[u8]) -> bool {
    bytes.len() > 4 && PROXY_HEADERS[1].starts_with(bytes)
}

/// White space of some language's library, in which servers are written that trim their lines.
fn is_blank(b: u8, reading: Reading) -> bool {
    match reading {
        Reading::Ordinary => b" \t\r\n".contains(&b),
        Reading::Strict => b <= b' ' || matches!(b, 0x7f | 0x85 | 0xa0),
    }
}

fn read_line(bytes: &[u8], reading: Reading) -> Option<Opening> {
    let strict = reading == Reading::Strict;
    // Servers skip blank lines before a request (RFC 9112 §2.2), some skip spaces too.
    let start = bytes.iter().position(|b| !is_blank(*b, reading))?;
    let whole = bytes;
    let bytes = &bytes[start..];
    if strict && is_binary(first_line(bytes)) {
        return Some(Opening::Other);
    }
    let Some(end) = bytes.iter().position(|b| !is_token(*b)) else {
        let long = bytes.len() > MAX_METHOD;
        return long.then_some(if strict {
            Opening::Http
        } else {
            Opening::Other
        });
    };
    let method = &bytes[..end];
    let separated = matches!(bytes[end], b' ' | b'\t')
        || strict && bytes[end] != b'\n' && is_blank(bytes[end], reading);
    if method.is_empty() || end > MAX_METHOD && !strict || !separated {
        return match strict {
            true => read_odd(whole, start),
            false => Some(Opening::Other),
        };
    }
    let known = METHODS.iter().any(|m| method.eq_ignore_ascii_case(m));
    let rest = &bytes[end..];
    let binary = |b: &u8| {
        let blank = b"\t\r".contains(b) || strict && is_blank(*b, reading);
        b.is_ascii_control() && !blank && !known
    };
    let newline = rest.iter().position(|b| *b == b'\n' || binary(b))?;
    if rest[newline] != b'\n' {
        return Some(Opening::Other);
    }
    let line = rest[..newline].trim_ascii();
    let versioned = names_http(line);
    let target = line.first().is_some_and(|b| *b == b'/' || strict);
    Some(if versioned || known && target {
        Opening::Http
    } else {
        Opening::Other
    })
}

/// Reads a line that begins with no method: a server that only divides it at its blanks takes it for a
/// request where it names the protocol, and reads the next one behind it. What has a zero before its
/// line is binary.
fn read_odd(whole: &[u8], start: usize) -> Option<Opening> {
    let line = first_line(&whole[start..]);
    match (names_http(line), start + line.len() < whole.len()) {
        (true, true) => Some(Opening::Http),
        (false, true) => Some(Opening::Other),
        (false, false) if whole.contains(&0) => Some(Opening::Other),
        (_, false) => None,
    }
}

/// Up to the first line's end, where it has come.
fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == b'\n').next().unwrap_or_default()
}

fn names_http(line: &[u8]) -> bool {
    line.windows(5).any(|w| w.eq_ignore_ascii_case(b"HTTP/"))
}

/// Whether a line is one of no text protocol, and of no request that a server could take it for.
fn is_binary(line: &[u8]) -> bool {
    let known = METHODS.iter().any(|method| {
        let length = method.len().min(line.len());
        line[..length].eq_ignore_ascii_case(&method[..length])
    });
    line.contains(&0) && !known && !names_http(line)
}

/// A character of a method or of a header's name (RFC 9110 §5.6.2).
pub(crate) fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

#[cfg(test)]
#[path = "opening_tests.rs"]
mod tests;
