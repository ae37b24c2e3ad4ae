//! A guest's datagrams: each sender of the guest has a socket in the monitor's own network, from which
//! every address leads to the gate, and what comes back to it goes back to the sender.

use bailiwick_channel::schema::ToGuest;
use bailiwick_gate::{Inside, IpFamily};
use rustix::fd::OwnedFd;
use rustix::net::{RecvFlags, SendFlags, recvfrom, sendto};
use std::collections::VecDeque;
use std::net::{SocketAddr, SocketAddrV4};

/// Senders at one time; a further one takes the place of the oldest.
const MOST: usize = 128;
/// The longest datagram, in bytes.
const LONGEST: usize = 64 * 1024;

struct Sender {
    token: u32,
    /// The guest's socket.
    of: SocketAddrV4,
    socket: OwnedFd,
}

/// All senders, the oldest first.
pub(crate) struct Datagrams {
    senders: VecDeque<Sender>,
    next: u32,
}

impl Datagrams {
    /// None yet; their sockets have tokens from this one on.
    pub(crate) fn new(first: u32) -> Self {
        Self {
            senders: VecDeque::new(),
            next: first,
        }
    }

    /// Sends a datagram on its way; returns a socket that is new, and one that is no longer used.
    /// A datagram that cannot be sent is lost, as datagrams are.
    pub(crate) fn send(
        &mut self,
        inside: &dyn Inside,
        of: SocketAddrV4,
        to: SocketAddrV4,
        bytes: &[u8],
    ) -> (Option<(&OwnedFd, u32)>, Option<OwnedFd>) {
        if let Some(known) = self.senders.iter().find(|sender| sender.of == of) {
            let _ = sendto(&known.socket, bytes, SendFlags::DONTWAIT, &to);
            return (None, None);
        }
        let Ok(socket) = inside.datagrams(IpFamily::V4) else {
            return (None, None);
        };
        let _ = sendto(&socket, bytes, SendFlags::DONTWAIT, &to);
        let old = match self.senders.len() >= MOST {
            true => self.senders.pop_front().map(|sender| sender.socket),
            false => None,
        };
        let token = self.next;
        self.next = self.next.checked_add(1).unwrap_or(1 << 16);
        self.senders.push_back(Sender { token, of, socket });
        let new = self.senders.back().map(|sender| (&sender.socket, token));
        (new, old)
    }

    /// An answer that has come.
    pub(crate) fn receive(&self, token: u32) -> Option<ToGuest> {
        let sender = self.senders.iter().find(|sender| sender.token == token)?;
        let mut buffer = vec![0; LONGEST];
        let (length, _, from) = recvfrom(&sender.socket, &mut buffer, RecvFlags::DONTWAIT).ok()?;
        let SocketAddr::V4(from) = SocketAddr::try_from(from?).ok()? else {
            return None;
        };
        buffer.truncate(length);
        Some(ToGuest::Datagram {
            to: sender.of,
            from,
            bytes: buffer,
        })
    }
}
