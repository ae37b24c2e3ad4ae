//! One canonical spelling for every way of naming a machine. A rule that is compared with
//! anything but this type can be walked around with a trailing dot, an octal number or a
//! homograph; so nothing else may be compared.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A machine: a DNS name in lower-case ASCII without a trailing dot, or an IP address
/// (IPv4-mapped IPv6 addresses become IPv4).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Host {
    /// A DNS name.
    Name(String),
    /// An address.
    Ip(IpAddr),
}

/// Why a text names no machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostError {
    /// Nothing was given.
    Empty,
    /// A character that no host name has (white space, NUL, `@`, `/`, `%`, …).
    Character(char),
    /// Longer than 253 bytes, or a label longer than 63 (RFC 1035 §2.3.4).
    TooLong,
    /// An empty label, a label with a hyphen at its end, or one that IDNA refuses.
    Label,
    /// It looks like a number but is no IPv4 address.
    Number,
    /// Brackets without an IPv6 address inside.
    Brackets,
}

/// What kind of network an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClass {
    /// An address that a public name may have.
    Public,
    /// 127/8, ::1, 0.0.0.0/8, ::.
    Loopback,
    /// 169.254/16, fe80::/10, and other places where cloud metadata services live.
    LinkLocal,
    /// RFC 1918, RFC 6598, RFC 4193 and other ranges that are not reached from the internet.
    Private,
    /// Multicast, broadcast and reserved ranges: nothing listens there.
    Reserved,
}

impl AddressClass {
    /// The class of an address; an IPv6 address that carries an IPv4 address (mapped, compatible,
    /// 6to4, NAT64) has the class of that address if it is not public.
    #[must_use]
    pub fn of(ip: IpAddr) -> Self {
        match ip.to_canonical() {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => Self::of_v6(v6),
        }
    }

    fn of_v4(ip: Ipv4Addr) -> Self {
        let [a, b, c, _] = ip.octets();
        match (a, b, c) {
            (0 | 127, ..) => Self::Loopback,
            (169, 254, _) => Self::LinkLocal,
            // A cloud's metadata service at a public address (Azure's "wire server").
            (168, 63, 129) => Self::LinkLocal,
            (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => Self::Private,
            // Benchmarking (RFC 2544, the gate's own synthetic range), protocol assignments,
            // documentation.
            (198, 18 | 19, _) | (192, 0, 0) => Self::Private,
            (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => Self::Private,
            (224..=255, ..) => Self::Reserved,
            _ => Self::Public,
        }
    }

    fn of_v6(ip: Ipv6Addr) -> Self {
        let s = ip.segments();
        let embedded = |hi: u16, lo: u16| {
            let [a, b] = hi.to_be_bytes();
            let [c, d] = lo.to_be_bytes();
            Self::of_v4(Ipv4Addr::new(a, b, c, d))
        };
        match s {
            [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Self::Loopback,
            [0, 0, 0, 0, 0, 0, hi, lo] => embedded(hi, lo),
            [0x64, 0xff9b, 0, 0, 0, 0, hi, lo] => embedded(hi, lo),
            [0x64, 0xff9b, 1, ..] => Self::Private,
            [0x2002, hi, lo, ..] => embedded(hi, lo),
            [0x2001, 0, ..] | [0x2001, 0xdb8, ..] => Self::Reserved,
            [f, ..] if f & 0xffc0 == 0xfe80 => Self::LinkLocal,
            [f, ..] if f & 0xfe00 == 0xfc00 || f & 0xffc0 == 0xfec0 => Self::Private,
            [f, ..] if f & 0xff00 == 0xff00 => Self::Reserved,
            [f, ..] if f & 0xe000 == 0x2000 => Self::Public,
            _ => Self::Reserved,
        }
    }
}

/// Names by which machines of a cloud find its metadata service.
const METADATA: [&str; 5] = [
    "metadata",
    "metadata.goog",
    "metadata.google.internal",
    "instance-data",
    "instance-data.ec2.internal",
];

impl Host {
    /// Reads a host name or an address in any of its spellings: upper case, a trailing dot,
    /// Unicode (IDNA, UTS 46), `[::1]`, and IPv4 as decimal, octal or hexadecimal numbers of one
    /// to four parts, as the C library and the WHATWG URL standard read them.
    ///
    /// # Errors
    /// [`HostError`] where the text names no machine.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(HostError::Brackets)?;
            let v6: Ipv6Addr = inner.parse().map_err(|_| HostError::Brackets)?;
            return Ok(Self::from(IpAddr::V6(v6)));
        }
        if let Ok(v6) = text.parse::<Ipv6Addr>() {
            return Ok(Self::from(IpAddr::V6(v6)));
        }
        if let Some(c) = text.chars().find(|c| {
            c.is_whitespace() || c.is_control() || "@/\\%:?#[]<>^|\"'`{}*,;!$&()+=~".contains(*c)
        }) {
            return Err(HostError::Character(c));
        }
        let ascii = if text.is_ascii() && !text.to_ascii_lowercase().contains("xn--") {
            text.to_ascii_lowercase()
        } else {
            idna::domain_to_ascii(text).map_err(|_| HostError::Label)?
        };
        let name = ascii.strip_suffix('.').unwrap_or(&ascii);
        if name.is_empty() {
            return Err(HostError::Empty);
        }
        if let Some(v4) = numeric_v4(name) {
            return v4
                .map(|ip| Self::Ip(IpAddr::V4(ip)))
                .ok_or(HostError::Number);
        }
        check_labels(name)?;
        Ok(Self::Name(name.to_owned()))
    }

    /// The address, where the host is one.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Ip(ip) => Some(*ip),
            Self::Name(_) => None,
        }
    }

    /// Whether it is `localhost` or below it, or a loopback address (RFC 6761 §6.3).
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Self::Ip(ip) => AddressClass::of(*ip) == AddressClass::Loopback,
        }
    }

    /// Whether it is this machine, an address that is not reached from the internet, or a cloud's
    /// metadata service. A public name may still have such an address: that is known only when it is
    /// resolved.
    #[must_use]
    pub fn is_inward(&self) -> bool {
        match self {
            Self::Name(name) => self.is_loopback() || METADATA.contains(&name.as_str()),
            Self::Ip(ip) => AddressClass::of(*ip) != AddressClass::Public,
        }
    }
}

fn check_labels(name: &str) -> Result<(), HostError> {
    if name.len() > 253 {
        return Err(HostError::TooLong);
    }
    for label in name.split('.') {
        if label.len() > 63 {
            return Err(HostError::TooLong);
        }
        if label.is_empty() || label.starts_with('-') || label.ends_with('-') {
            return Err(HostError::Label);
        }
        if let Some(c) = label
            .chars()
            .find(|c| !(c.is_ascii_alphanumeric() || "-_".contains(*c)))
        {
            return Err(HostError::Character(c));
        }
    }
    Ok(())
}

/// Reads `text` as an IPv4 address if its last part is a number (WHATWG URL, "ends in a number").
/// `None`: a name. `Some(None)`: meant as a number, but none.
#[allow(clippy::option_option, reason = "three outcomes, each used once")]
fn numeric_v4(text: &str) -> Option<Option<Ipv4Addr>> {
    let last = text.rsplit('.').next()?;
    let number = match last.strip_prefix("0x") {
        Some(hex) => hex.bytes().all(|b| b.is_ascii_hexdigit()),
        None => !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit()),
    };
    if !number {
        return None;
    }
    Some(parse_parts(text))
}

fn parse_parts(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = text.split('.').collect();
    if parts.len() > 4 {
        return None;
    }
    let mut value: u64 = 0;
    for (i, part) in parts.iter().enumerate() {
        let number = match part.strip_prefix("0x") {
            Some("") => 0,
            Some(hex) => u64::from_str_radix(hex, 16).ok()?,
            None if part.len() > 1 && part.starts_with('0') => u64::from_str_radix(part, 8).ok()?,
            None => part.parse().ok()?,
        };
        let last = i + 1 == parts.len();
        let limit = if last { 1 << (8 * (4 - i)) } else { 256 };
        if number >= limit {
            return None;
        }
        value += if last {
            number
        } else {
            number << (8 * (3 - i))
        };
    }
    u32::try_from(value).ok().map(Ipv4Addr::from)
}

impl From<IpAddr> for Host {
    fn from(ip: IpAddr) -> Self {
        Self::Ip(ip.to_canonical())
    }
}

impl FromStr for Host {
    type Err = HostError;
    fn from_str(s: &str) -> Result<Self, HostError> {
        Self::parse(s)
    }
}
impl TryFrom<String> for Host {
    type Error = HostError;
    fn try_from(s: String) -> Result<Self, HostError> {
        Self::parse(&s)
    }
}
impl From<Host> for String {
    fn from(host: Host) -> Self {
        host.to_string()
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.pad(name),
            Self::Ip(ip) => f.pad(&ip.to_string()),
        }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a host is missing"),
            Self::Character(c) => {
                write!(
                    f,
                    "no host has the character '{}' in its name",
                    c.escape_default()
                )
            }
            Self::TooLong => {
                f.write_str("a host name has at most 253 bytes, and 63 between two dots")
            }
            Self::Label => {
                f.write_str("a part of the name is empty, ends in '-', or is no IDNA label")
            }
            Self::Number => f.write_str("it looks like an IPv4 address but is none"),
            Self::Brackets => f.write_str("an IPv6 address must stand between '[' and ']'"),
        }
    }
}
impl std::error::Error for HostError {}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
