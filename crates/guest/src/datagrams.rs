//! Datagrams: each is a message, and so is each answer, which leaves from the address that the program
//! has asked.

use bailiwick_channel::schema::ToHost;
use bailiwick_gate::datagram;
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, sendto, socket_with, sockopt};
use std::io;
use std::net::{SocketAddr, SocketAddrV4};

/// The longest datagram that is passed on, in bytes: what DNS and QUIC send is shorter.
const LONGEST: usize = 4096;

/// Takes one datagram; `None` where there is none any more.
pub(crate) fn take(socket: &OwnedFd) -> io::Result<Option<ToHost>> {
    let mut buffer = [0; LONGEST];
    let received = match datagram::receive(socket.as_fd(), &mut buffer) {
        Ok(received) => received,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        Err(error) => return Err(error),
    };
    let (SocketAddr::V4(from), SocketAddr::V4(to)) = (received.source, received.destination) else {
        return Ok(None);
    };
    let bytes = buffer.get(..received.length).unwrap_or_default().to_vec();
    Ok(Some(ToHost::Datagram { from, to, bytes }))
}

/// Gives a program its answer.
pub(crate) fn answer(to: SocketAddrV4, from: SocketAddrV4, bytes: &[u8]) -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &from)?;
    sendto(&socket, bytes, rustix::net::SendFlags::DONTWAIT, &to)?;
    Ok(())
}
