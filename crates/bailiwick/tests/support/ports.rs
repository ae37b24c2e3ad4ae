//! Ports of the loopback at which nobody listens. They are held: a port that was free a moment ago may be
//! another test's now.

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket, sockopt};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};

/// A port of the loopback that is nobody else's as long as this value is there. Who connects to it is
/// refused. One program may listen there that sets SO_REUSEADDR, as servers do.
pub(crate) struct Port {
    number: u16,
    _held: OwnedFd,
}

impl Port {
    pub(crate) fn new() -> Self {
        let held = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        sockopt::set_socket_reuseaddr(&held, true).unwrap();
        bind(&held, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = getsockname(&held).unwrap();
        let address = SocketAddr::try_from(address).unwrap();
        Self {
            number: address.port(),
            _held: held,
        }
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}

/// A socket at whose address nobody answers datagrams: the kernel refuses all that do not come from itself.
pub(crate) fn deaf() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    socket.connect(address).unwrap();
    (socket, address)
}
