//! Makes the connections of programs that have no network of their own and share the host's.
//!
//! Decision: such a program's socket is connected by the gate, and to nothing but the gate. The
//! address is read once, from bytes that the program cannot change any more; where the connection
//! leads then is the gate's knowledge, decided on the same path as in every other sandbox. All
//! that it costs is that a program sees the gate as its peer (getpeername).
//!
//! Calls are served one after the other by a thread of their own: whatever a program does with the
//! socket meanwhile keeps up nobody but itself.

use crate::context::Context;
use crate::doors::Doors;
use crate::expected::{Expected, Way};
use crate::forward;
use crate::socket_address::{self, Family};
use crate::sockets::{Call, PROXY_PORT, Source};
use bailiwick_event::Transport;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketType, bind, connect, getpeername, getsockname, ipproto, sockopt,
};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// The DNS port, which is the gate's at every address.
const DNS: u16 = 53;

/// Serves the calls of one sandbox.
pub(crate) struct Callers {
    source: Box<dyn Source>,
    doors: Doors,
    expected: Arc<Expected>,
    context: Arc<Context>,
}

impl Callers {
    /// Opens the gate's listeners for a sandbox, and adds them with what is expected at them.
    pub(crate) fn new(
        source: Box<dyn Source>,
        context: &Arc<Context>,
        listeners: &mut Vec<(TcpListener, Arc<Expected>)>,
    ) -> io::Result<Self> {
        let (doors, opened) = Doors::open()?;
        let expected = Arc::new(Expected::new());
        listeners.extend(opened.into_iter().map(|l| (l, expected.clone())));
        Ok(Self {
            source,
            doors,
            expected,
            context: context.clone(),
        })
    }

    /// Serves until nobody is left who could call.
    pub(crate) fn serve(self) {
        while let Ok(Some(call)) = self.source.next() {
            let number = call.number;
            let errno = self.connect(&call).err().map_or(0, Errno::raw_os_error);
            // The program's own socket is the only one when it hears the answer.
            drop(call);
            if self.source.answer(number, errno).is_err() {
                return;
            }
        }
    }

    /// Connects a program's socket to the gate.
    fn connect(&self, call: &Call) -> Result<(), Errno> {
        let family = family(call.socket.as_fd())?;
        let wanted = socket_address::read(family, &call.address)?;
        if getpeername(&call.socket).is_ok() {
            return Err(Errno::ISCONN);
        }
        // What a program opens beyond measure is refused to it, not kept for it.
        let place = self.expected.place().ok_or(Errno::CONNREFUSED)?;
        let way = self.way(wanted)?;
        let door = self.doors.of(family);
        let from = own_address(call.socket.as_fd(), door.ip())?;
        if !self.expected.expect(from, way, place) {
            return Err(Errno::ALREADY);
        }
        match connect(&call.socket, &door) {
            Err(error) if error != Errno::INPROGRESS => {
                self.expected.take(from);
                Err(error)
            }
            done => done,
        }
    }

    /// How a connection to an address is served. This machine's loopback is decided here: what the
    /// policy does not grant of it is not there, as in a sandbox with a loopback of its own.
    fn way(&self, wanted: SocketAddr) -> Result<Way, Errno> {
        if wanted == SocketAddr::from((Ipv4Addr::LOCALHOST, PROXY_PORT)) {
            return Ok(Way::Proxy);
        }
        if !wanted.ip().is_loopback() || wanted.port() == DNS {
            return Ok(Way::Transparent(wanted));
        }
        // The policy's grants are of these two addresses alone.
        if ![
            Ipv4Addr::LOCALHOST.into(),
            IpAddr::from(Ipv6Addr::LOCALHOST),
        ]
        .contains(&wanted.ip())
        {
            return Err(Errno::CONNREFUSED);
        }
        let to = forward::at_loopback(wanted);
        match self.context.decider.submit(to.connect(Transport::Tcp)) {
            decision if decision.is_allow() => Ok(Way::Loopback(to)),
            _ => Err(Errno::CONNREFUSED),
        }
    }
}

/// The family of a socket, if it is one of TCP.
fn family(socket: BorrowedFd<'_>) -> Result<Family, Errno> {
    let family = match sockopt::socket_domain(socket)? {
        AddressFamily::INET => Family::V4,
        AddressFamily::INET6 => Family::V6,
        _ => return Err(Errno::ACCESS),
    };
    let stream = sockopt::socket_type(socket)? == SocketType::STREAM;
    match stream && sockopt::socket_protocol(socket)? == Some(ipproto::TCP) {
        true => Ok(family),
        false => Err(Errno::ACCESS),
    }
}

/// Gives a socket an address of its own on the loopback, if it has none yet, and returns it as the
/// gate will see it.
fn own_address(socket: BorrowedFd<'_>, loopback: IpAddr) -> Result<SocketAddr, Errno> {
    // Nobody else may have the same.
    sockopt::set_socket_reuseaddr(socket, false)?;
    sockopt::set_socket_reuseport(socket, false)?;
    match bind(socket, &SocketAddr::new(loopback, 0)) {
        // It is bound already, by an attempt that failed.
        Ok(()) | Err(Errno::INVAL) => {}
        Err(error) => return Err(error),
    }
    let own = SocketAddr::try_from(getsockname(socket)?)?;
    let own = SocketAddr::new(own.ip().to_canonical(), own.port());
    match own.port() != 0 && own.ip() == loopback.to_canonical() {
        true => Ok(own),
        false => Err(Errno::ADDRNOTAVAIL),
    }
}

#[cfg(test)]
#[path = "callers_tests.rs"]
mod tests;
