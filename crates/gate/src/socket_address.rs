//! Reads the address that a program gives to `connect`. It is a program's own word, so the kernel's
//! rules (tcp_v4_connect, tcp_v6_connect) are applied to it here before anything is decided, and
//! what was decided is what is used: the bytes are never looked at again.

use rustix::io::Errno;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The family of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

/// An address of IPv6 is at least so long (RFC 2133): without a scope.
const LENGTH_V6: usize = 24;
const LENGTH_V4: usize = 16;

/// Where a connection of a socket of this family would go; as the kernel does, the unspecified
/// address is taken for this machine. An address without a family would take the connection away
/// again, which is not done here.
pub(crate) fn read(family: Family, bytes: &[u8]) -> Result<SocketAddr, Errno> {
    let named = bytes.first_chunk().ok_or(Errno::INVAL)?;
    let (expected, length) = match family {
        Family::V4 => (libc::AF_INET, LENGTH_V4),
        Family::V6 => (libc::AF_INET6, LENGTH_V6),
    };
    if i32::from(u16::from_ne_bytes(*named)) != expected {
        return Err(Errno::AFNOSUPPORT);
    }
    if bytes.len() < length {
        return Err(Errno::INVAL);
    }
    let port = u16::from_be_bytes([bytes[2], bytes[3]]);
    let ip = match family {
        Family::V4 => {
            let octets: [u8; 4] = bytes[4..8].try_into().map_err(|_| Errno::INVAL)?;
            IpAddr::from(octets)
        }
        Family::V6 => {
            let octets: [u8; 16] = bytes[8..24].try_into().map_err(|_| Errno::INVAL)?;
            IpAddr::from(octets).to_canonical()
        }
    };
    let ip = match ip {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        other => other,
    };
    Ok(SocketAddr::new(ip, port))
}

#[cfg(test)]
#[path = "socket_address_tests.rs"]
mod tests;
