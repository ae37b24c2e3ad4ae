//! SOCKS5 (RFC 1928), as far as a client needs it: no authentication, CONNECT. The messages are
//! parsed from bytes alone, so that a test can send every one of them.

use bailiwick_event::Host;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What can be replied (RFC 1928 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reply {
    Succeeded = 0,
    Failure = 1,
    NotAllowed = 2,
    NetworkUnreachable = 3,
    HostUnreachable = 4,
    ConnectionRefused = 5,
    TimedOut = 6,
    CommandNotSupported = 7,
    AddressNotSupported = 8,
}

impl Reply {
    /// The message; the bound address is left out, because it would tell of the host's network.
    pub(crate) fn bytes(self) -> [u8; 10] {
        [5, self as u8, 0, 1, 0, 0, 0, 0, 0, 0]
    }

    /// The reply to a failure of the network.
    pub(crate) fn to_failure(kind: io::ErrorKind) -> Self {
        match kind {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => {
                Self::ConnectionRefused
            }
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::NetworkDown => {
                Self::NetworkUnreachable
            }
            io::ErrorKind::HostUnreachable => Self::HostUnreachable,
            io::ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Failure,
        }
    }
}

/// What a message's bytes hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parsed<T> {
    /// More bytes are needed.
    Incomplete,
    /// This, in so many bytes.
    Whole(T, usize),
    /// Nothing that can be granted.
    Bad(Reply),
}

/// Reads a greeting: whether the client can do without authentication.
pub(crate) fn greeting(bytes: &[u8]) -> Parsed<bool> {
    match bytes {
        [] | [5] => Parsed::Incomplete,
        [5, n, methods @ ..] => match methods.get(..usize::from(*n)) {
            Some(methods) => Parsed::Whole(methods.contains(&0), 2 + methods.len()),
            None => Parsed::Incomplete,
        },
        _ => Parsed::Bad(Reply::Failure),
    }
}

/// Reads a request: the host and port to connect to.
pub(crate) fn request(bytes: &[u8]) -> Parsed<(Host, u16)> {
    match bytes {
        [] | [5] => return Parsed::Incomplete,
        [5, 1, ..] => {}
        [5, _, ..] => return Parsed::Bad(Reply::CommandNotSupported),
        _ => return Parsed::Bad(Reply::Failure),
    }
    let (kind, start) = match bytes {
        [_, _, _, 3, n, ..] => (3, 5..5 + usize::from(*n)),
        [_, _, _, 1, ..] => (1, 4..8),
        [_, _, _, 4, ..] => (4, 4..20),
        [_, _, _, 3] | [_, _] | [_, _, _] => return Parsed::Incomplete,
        _ => return Parsed::Bad(Reply::AddressNotSupported),
    };
    let end = start.end;
    let (Some(address), Some([hi, lo])) = (bytes.get(start), bytes.get(end..end + 2)) else {
        return Parsed::Incomplete;
    };
    let host = match kind {
        1 => <[u8; 4]>::try_from(address)
            .ok()
            .map(|a| Host::from(IpAddr::from(Ipv4Addr::from(a)))),
        4 => <[u8; 16]>::try_from(address)
            .ok()
            .map(|a| Host::from(IpAddr::from(Ipv6Addr::from(a)))),
        _ => std::str::from_utf8(address)
            .ok()
            .and_then(|name| Host::parse(name).ok()),
    };
    match host {
        Some(host) => Parsed::Whole((host, u16::from_be_bytes([*hi, *lo])), end + 2),
        None => Parsed::Bad(Reply::HostUnreachable),
    }
}

#[cfg(test)]
#[path = "socks_tests.rs"]
mod tests;
