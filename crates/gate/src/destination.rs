//! Where a connection wants to go, in the words of the vocabulary. Every act about one connection
//! is made here, so that all of them name the same host in the same spelling.

use crate::secure::Secure;
use bailiwick_event::{Act, Host, Scheme, Text, Transport, Via};
use std::net::IpAddr;
use std::sync::Arc;

/// The longest text of a program's choosing that goes into an act, in bytes.
const MAX_TEXT: usize = 8 * 1024;

/// A host and port, and how the program came to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Destination {
    pub(crate) host: Host,
    /// The address that the program used, where it used one.
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: u16,
    pub(crate) via: Via,
    /// How the server is named within TLS that the gate speaks; none where it speaks none.
    pub(crate) secure: Option<Arc<Secure>>,
}

impl Destination {
    /// A connection is opened.
    pub(crate) fn connect(&self, transport: Transport) -> Act {
        Act::Connect {
            host: Text::from(&self.host),
            address: self.address,
            port: self.port,
            transport,
            via: self.via,
        }
    }

    /// A TLS client names its server.
    pub(crate) fn tls(&self, sni: Option<Vec<u8>>, inspected: bool) -> Act {
        Act::Tls {
            sni: sni.map(|name| Text::from(name).truncated(MAX_TEXT)),
            host: Text::from(&self.host),
            port: self.port,
            inspected,
        }
    }

    /// A request is sent. `host` is the one that the request names.
    pub(crate) fn http(&self, method: &str, host: &Host, path: &str) -> Act {
        Act::Http {
            method: Text::from(method),
            host: Text::from(host),
            connected: Text::from(&self.host),
            port: self.port,
            path: Text::from(path),
            via: self.via,
            scheme: self.scheme(),
        }
    }

    /// How requests on the connection are sent.
    pub(crate) fn scheme(&self) -> Scheme {
        match self.secure {
            Some(_) => Scheme::Https,
            None => Scheme::Http,
        }
    }

    /// Host and port as a request names them: without the port that its scheme means.
    pub(crate) fn authority(&self) -> String {
        let shown = self.shown();
        let port = format!(":{}", self.port);
        match self.port == self.scheme().port() {
            true => shown.strip_suffix(&port).unwrap_or(&shown).to_owned(),
            false => shown,
        }
    }

    /// Host and port for a message.
    pub(crate) fn shown(&self) -> String {
        match self.host.ip() {
            Some(IpAddr::V6(ip)) => format!("[{ip}]:{}", self.port),
            _ => format!("{}:{}", self.host, self.port),
        }
    }
}
