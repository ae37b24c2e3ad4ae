//! The gate's listeners on the host's loopback, for a sandbox that shares the host's network. Every
//! process of the machine can knock; [`crate::expected`] says who is let in.

use crate::socket_address::Family;
use rustix::net::listen;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

/// Connections that the kernel keeps until they are accepted; more than can be expected at a time.
const BACKLOG: i32 = 1024;

/// Where the gate is to be found on the host's loopback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doors {
    v4: SocketAddr,
    /// None where the host has no IPv6.
    v6: Option<SocketAddr>,
}

impl Doors {
    /// Opens them.
    pub(crate) fn open() -> io::Result<(Self, Vec<TcpListener>)> {
        let open = |ip: IpAddr| {
            let listener = TcpListener::bind((ip, 0))?;
            listen(&listener, BACKLOG)?;
            listener.set_nonblocking(true)?;
            io::Result::Ok((listener.local_addr()?, listener))
        };
        let (v4, first) = open(Ipv4Addr::LOCALHOST.into())?;
        let second = open(Ipv6Addr::LOCALHOST.into()).ok();
        let v6 = second.as_ref().map(|(address, _)| *address);
        let listeners = [first].into_iter().chain(second.map(|(_, l)| l));
        Ok((Self { v4, v6 }, listeners.collect()))
    }

    /// The one for a socket of this family, as such a socket writes it.
    pub(crate) fn of(self, family: Family) -> SocketAddr {
        match (family, self.v6) {
            (Family::V4, _) => self.v4,
            (Family::V6, Some(v6)) => v6,
            (Family::V6, None) => {
                SocketAddr::new(Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(), self.v4.port())
            }
        }
    }
}
