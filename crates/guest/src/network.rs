//! The way out: programs see a network on which every address answers, and what they send arrives at
//! listeners of this process, which passes it to the host with its destination.

use bailiwick_channel::schema::Open;
use bailiwick_channel::{Ends, Line};
use bailiwick_process::guest::{Listeners, capture};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with, getsockname, sockopt};
use std::io;
use std::net::{SocketAddr, SocketAddrV4};

/// Connections that are passed on at one time.
const MOST: usize = 640;

/// The listeners, by the tokens of the loop.
pub(crate) struct Network {
    listeners: Listeners,
}

impl Network {
    /// Makes the machine's network.
    pub(crate) fn new() -> io::Result<Self> {
        let listeners = capture()?;
        Ok(Self { listeners })
    }

    /// Where datagrams arrive.
    pub(crate) fn datagrams(&self) -> impl Iterator<Item = &OwnedFd> {
        self.listeners.udp.iter()
    }

    /// The socket of datagrams of this number.
    pub(crate) fn datagram(&self, number: usize) -> Option<&OwnedFd> {
        self.listeners.udp.get(number)
    }

    /// Listens at these ports of the loopback as well.
    pub(crate) fn grant(&mut self, ports: &[u16]) -> io::Result<()> {
        self.listeners
            .tcp
            .extend(bailiwick_process::guest::grant(ports)?);
        Ok(())
    }

    /// Where connections arrive.
    pub(crate) fn connections(&self) -> impl Iterator<Item = &OwnedFd> {
        self.listeners.tcp.iter()
    }

    /// Passes one connection on; where it came from and where it leads.
    pub(crate) fn accept(
        &self,
        number: usize,
        line: &mut Line,
    ) -> io::Result<Option<(SocketAddrV4, SocketAddrV4)>> {
        let Some(listener) = self.listeners.tcp.get(number) else {
            return Ok(None);
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (socket, from) = match acceptfrom_with(listener, flags) {
            Ok(accepted) => accepted,
            // It is gone already, or there is no descriptor for it now.
            Err(Errno::AGAIN | Errno::CONNABORTED | Errno::MFILE | Errno::NFILE) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        if line.streams() >= MOST {
            return Ok(None);
        }
        let Some(to) = destination(&socket) else {
            return Ok(None);
        };
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        line.open(&Open::Outward { to }, Ends::both(socket)?);
        let from = from.and_then(|from| SocketAddrV4::try_from(from).ok());
        Ok(from.map(|from| (from, to)))
    }
}

/// Where a program wanted to go.
fn destination(socket: &OwnedFd) -> Option<SocketAddrV4> {
    match SocketAddr::try_from(getsockname(socket).ok()?).ok()? {
        SocketAddr::V4(to) => Some(to),
        SocketAddr::V6(_) => None,
    }
}
