//! The table of names and synthetic addresses. A name that was looked up and allowed gets an
//! address that means it, for the whole session: a later connection to that address carries its
//! name and can be neither spoofed nor rebound. What the name resolves to on the host is looked
//! up only when it is dialled.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// The sandbox's name server, for its `resolv.conf`. The gate answers at every address; this one
/// is never a name's.
pub const NAMESERVER_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

/// The sandbox's name server by IPv6.
pub const NAMESERVER_V6: Ipv6Addr = Ipv6Addr::new(0xfd62, 0x6169, 0x6c69, 0, 0, 0, 0, 1);

/// 198.18.0.0/15 (RFC 2544): never routed, and never granted by a policy for itself as RFC 1918
/// is.
const V4_BASE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const V4_BITS: u32 = 15;
/// The fixed ULA prefix, /64.
const V6_PREFIX: [u16; 4] = [0xfd62, 0x6169, 0x6c69, 0];
/// Addresses below this offset are the gate's own.
const FIRST: u32 = 256;
/// More names than a program needs, fewer than either range holds.
const CAPACITY: usize = 65_000;

/// What a synthetic address is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// This name.
    Name(Arc<str>),
    /// It is of the synthetic range, but bound to nothing.
    Nothing,
    /// It is not of the synthetic range.
    Outside,
}

/// Names and their addresses, for the session.
pub(crate) struct Names {
    v4_base: u32,
    capacity: usize,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    index: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
}

impl Names {
    pub(crate) fn new() -> Self {
        Self::with(V4_BASE, CAPACITY)
    }

    /// A table whose IPv4 range starts elsewhere (a /15) and that holds fewer names.
    pub(crate) fn with(v4_base: Ipv4Addr, capacity: usize) -> Self {
        Self {
            v4_base: v4_base.to_bits(),
            capacity: capacity.min(CAPACITY),
            table: Mutex::default(),
        }
    }

    /// The addresses of a name, which is bound to them from now on; `None` where the table is
    /// full. The name has its canonical spelling.
    pub(crate) fn bind(&self, name: &str) -> Option<(Ipv4Addr, Ipv6Addr)> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = match table.index.get(name) {
            Some(offset) => *offset,
            None if table.names.len() >= self.capacity => return None,
            None => {
                let offset = FIRST + u32::try_from(table.names.len()).ok()?;
                let name: Arc<str> = name.into();
                table.names.push(name.clone());
                table.index.insert(name, offset);
                offset
            }
        };
        let [a, b, c, d] = V6_PREFIX;
        let [hi, lo] = [(offset >> 16) as u16, offset as u16];
        Some((
            Ipv4Addr::from_bits(self.v4_base + offset),
            Ipv6Addr::new(a, b, c, d, 0, 0, hi, lo),
        ))
    }

    /// What an address is bound to.
    pub(crate) fn of(&self, ip: IpAddr) -> Bound {
        let Some(offset) = self.offset(ip.to_canonical()) else {
            return Bound::Outside;
        };
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        offset
            .checked_sub(u64::from(FIRST))
            .and_then(|index| table.names.get(usize::try_from(index).ok()?))
            .map_or(Bound::Nothing, |name| Bound::Name(name.clone()))
    }

    /// The place of an address in the synthetic range.
    fn offset(&self, ip: IpAddr) -> Option<u64> {
        match ip {
            IpAddr::V4(v4) => {
                let offset = v4.to_bits().checked_sub(self.v4_base)?;
                (offset < 1 << (32 - V4_BITS)).then_some(u64::from(offset))
            }
            IpAddr::V6(v6) => {
                let (prefix, rest) = (v6.to_bits() >> 64, v6.to_bits() as u64);
                let [a, b, c, d] = V6_PREFIX.map(u128::from);
                (prefix == (a << 48 | b << 32 | c << 16 | d)).then_some(rest)
            }
        }
    }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
