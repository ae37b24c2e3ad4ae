//! How what a program says travels.

use serde::{Deserialize, Serialize};

/// How a datagram or a stream travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are the protocols")]
pub enum Transport {
    Tcp,
    Udp,
}

/// The way in which a connection reached the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// The program connected to the address itself.
    Transparent,
    /// The program asked the HTTP proxy (`CONNECT`, or a request with an absolute URI).
    Proxy,
    /// The program asked the SOCKS5 proxy.
    Socks5,
    /// The program connected to its own loopback, at a port that the policy grants on the host's.
    Loopback,
    /// The host connected to a published port.
    Publish,
}

/// What a request is sent by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// In the clear.
    #[default]
    Http,
    /// Within TLS that the gate looks into.
    Https,
}

impl Scheme {
    /// Its name in a URL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port that a URL without one means.
    #[must_use]
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    pub(crate) fn is_http(&self) -> bool {
        *self == Self::Http
    }
}
