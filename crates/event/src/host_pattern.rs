//! An entry of `[network]`: which machines, at which ports. Matching looks at nothing but the
//! canonical [`Host`].

use crate::Host;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Which machines.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PatternHost {
    /// Every machine (`*`).
    Any,
    /// Exactly this one.
    Exact(Host),
    /// Every name below this one, but not itself (`*.example.org`).
    Below(String),
    /// Every address of a network (`10.0.0.0/8`).
    Network(IpAddr, u8),
}

/// Which ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ports {
    /// No port was written: 80 and 443 where the entry allows, all where it denies.
    Unsaid,
    /// `:*`.
    All,
    /// This one.
    One(u16),
}

/// `host`, `host:port`, `host:*`, `*.domain`, `[v6]:port`, `network/bits`, `*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern {
    /// Which machines.
    pub host: PatternHost,
    /// Which ports.
    pub ports: Ports,
}

impl HostPattern {
    /// Whether an entry that allows covers this machine and port.
    #[must_use]
    pub fn allows(&self, host: &Host, port: u16) -> bool {
        let ports = match self.ports {
            Ports::Unsaid => port == 80 || port == 443,
            Ports::All => true,
            Ports::One(p) => p == port,
        };
        ports && self.covers(host)
    }

    /// Whether the entry means this machine and port; without a port it means these.
    #[must_use]
    pub fn means(&self, host: &Host, port: u16, unsaid: &[u16]) -> bool {
        let ports = match self.ports {
            Ports::Unsaid => unsaid.contains(&port),
            Ports::One(one) => one == port,
            Ports::All => true,
        };
        ports && self.covers(host)
    }

    /// Whether an entry that denies covers this machine and port.
    #[must_use]
    pub fn denies(&self, host: &Host, port: u16) -> bool {
        !matches!(self.ports, Ports::One(p) if p != port) && self.covers(host)
    }

    /// Whether the entry covers this machine at some port.
    #[must_use]
    pub fn covers(&self, host: &Host) -> bool {
        match (&self.host, host) {
            (PatternHost::Any, _) => true,
            (PatternHost::Exact(h), host) => h == host,
            (PatternHost::Below(domain), Host::Name(name)) => name
                .strip_suffix(domain.as_str())
                .is_some_and(|rest| rest.ends_with('.')),
            (PatternHost::Network(net, bits), Host::Ip(ip)) => {
                first_of_network(*ip, *bits) == first_of_network(*net, *bits)
            }
            _ => false,
        }
    }
}

/// The first address of the network of so many bits that an address is in.
#[must_use]
pub fn first_of_network(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & mask))
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & mask))
        }
    }
}

/// Splits `host:port`; an IPv6 address needs brackets to have a port.
fn split_port(text: &str) -> Result<(&str, Ports), String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if host.starts_with('[') && host.ends_with(']') => (host, port),
        Some((host, port)) if !host.contains(':') => (host, port),
        _ => return Ok((text, Ports::Unsaid)),
    };
    if port == "*" {
        return Ok((host, Ports::All));
    }
    match port.parse::<u16>() {
        Ok(number) if number != 0 && port.bytes().all(|b| b.is_ascii_digit()) => {
            Ok((host, Ports::One(number)))
        }
        _ => Err(format!(
            "\"{port}\" is no port; write a number from 1 to 65535, or *"
        )),
    }
}

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((scheme, _)) = text.split_once("://") {
            return Err(format!("write the host alone, without \"{scheme}://\""));
        }
        let (text, ports) = split_port(text)?;
        let host = if text == "*" {
            PatternHost::Any
        } else if let Some(domain) = text.strip_prefix("*.") {
            match Host::parse(domain).map_err(|e| e.to_string())? {
                Host::Name(name) => PatternHost::Below(name),
                Host::Ip(_) => return Err("a wildcard stands before a name, not an address".into()),
            }
        } else if let Some((net, bits)) = text.split_once('/') {
            let net = match Host::parse(net) {
                Ok(Host::Ip(ip)) => ip,
                _ => return Err("a path has no place here; write the host alone".into()),
            };
            let width = if net.is_ipv4() { 32 } else { 128 };
            match bits.parse::<u8>() {
                Ok(bits) if bits <= width => PatternHost::Network(net, bits),
                _ => return Err(format!("the prefix length goes from 0 to {width}")),
            }
        } else {
            PatternHost::Exact(Host::parse(text).map_err(|e| e.to_string())?)
        };
        Ok(Self { host, ports })
    }
}

impl TryFrom<String> for HostPattern {
    type Error = String;
    fn try_from(s: String) -> Result<Self, String> {
        s.parse()
    }
}
impl From<HostPattern> for String {
    fn from(p: HostPattern) -> Self {
        p.to_string()
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            PatternHost::Any => f.write_str("*")?,
            PatternHost::Exact(Host::Ip(IpAddr::V6(ip))) => write!(f, "[{ip}]")?,
            PatternHost::Exact(host) => write!(f, "{host}")?,
            PatternHost::Below(domain) => write!(f, "*.{domain}")?,
            PatternHost::Network(IpAddr::V6(net), bits) if self.ports != Ports::Unsaid => {
                write!(f, "[{net}]/{bits}")?;
            }
            PatternHost::Network(net, bits) => write!(f, "{net}/{bits}")?,
        }
        match self.ports {
            Ports::Unsaid => Ok(()),
            Ports::All => f.write_str(":*"),
            Ports::One(port) => write!(f, ":{port}"),
        }
    }
}

#[cfg(test)]
#[path = "host_pattern_tests.rs"]
mod tests;
