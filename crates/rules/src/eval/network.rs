//! Addresses, networks and domains. A host name is compared label by label, so that
//! `evil-example.com` is never below `example.com`.

use bailiwick_event::{AddressClass, first_of_network};
use std::fmt;
use std::net::IpAddr;

/// A network: its first address and the number of bits that all its addresses share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cidr {
    first: IpAddr,
    bits: u8,
}

/// An address in its usual form; no port, no zone, no octal digits.
pub(crate) fn ip(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| {
        let shown: String = text.chars().take(60).collect();
        format!("\"{shown}\" is no address")
    })
}

impl Cidr {
    /// The network that the text says. Bits after the prefix are taken for zero.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let bad = || {
            let shown: String = text.chars().take(60).collect();
            format!("\"{shown}\" is no network; write 10.0.0.0/8")
        };
        let (address, bits) = text.split_once('/').ok_or_else(bad)?;
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let plain = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
        let bits = bits
            .parse::<u8>()
            .ok()
            .filter(|bits| plain && *bits <= width);
        let bits = bits.ok_or_else(bad)?;
        // An IPv4 address is never looked for in one of these; a rule on it would hold nothing.
        if let IpAddr::V6(v6) = address
            && v6.to_ipv4_mapped().is_some()
        {
            return Err(format!(
                "\"{text}\" is a network of IPv4 addresses; write it as one: 10.0.0.0/8"
            ));
        }
        Ok(Self {
            first: first_of_network(address, bits),
            bits,
        })
    }

    /// Whether an address lies in it. An IPv4 address that is written as an IPv6 one is the IPv4
    /// address.
    #[must_use]
    pub fn contains(&self, ip: IpAddr) -> bool {
        let same = |ip: IpAddr| {
            ip.is_ipv4() == self.first.is_ipv4() && first_of_network(ip, self.bits) == self.first
        };
        same(ip) || same(ip.to_canonical())
    }

    /// The number of bits.
    #[must_use]
    pub fn bits(&self) -> u8 {
        self.bits
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

/// Whether it is no address of the public internet.
pub(crate) fn is_private(ip: IpAddr) -> bool {
    AddressClass::of(ip) != AddressClass::Public
}

/// A domain that host names are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Domain(String);

impl Domain {
    /// The domain of that name; a public suffix is none, because everybody's hosts lie below it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let name = text.strip_suffix('.').unwrap_or(text);
        let name = name.strip_prefix('.').unwrap_or(name).to_ascii_lowercase();
        if name.is_empty() || name.split('.').any(str::is_empty) {
            return Err(format!("\"{text}\" is no domain"));
        }
        // A name that is on no list, such as one of a private network, is its own suffix.
        if psl::suffix_str(&name) == Some(&*name)
            && psl::suffix(name.as_bytes()).is_some_and(|s| s.is_known())
        {
            return Err(format!(
                "\"{text}\" is a public suffix: hosts of many owners lie below it; name the domain itself"
            ));
        }
        Ok(Self(name))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a host name is the domain or lies below it, whatever its case and whether it ends
    /// with a dot.
    pub(crate) fn covers(&self, host: &str) -> bool {
        covers(&self.0, host)
    }
}

/// Whether a host name is a domain, which is in lower case, or lies below it.
pub(crate) fn covers(domain: &str, host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).as_bytes();
    let Some(start) = host.len().checked_sub(domain.len()) else {
        return false;
    };
    host[start..].eq_ignore_ascii_case(domain.as_bytes())
        && (start == 0 || host[start - 1] == b'.' && start > 1)
}

/// The registrable domain of a host name, in lower case; empty where it has none.
pub(crate) fn registrable(host: &str) -> String {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if name.parse::<IpAddr>().is_ok() {
        return String::new();
    }
    psl::domain_str(&name).unwrap_or_default().to_owned()
}
