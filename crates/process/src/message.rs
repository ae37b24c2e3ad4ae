//! What the supervisor and the sandbox's pid 1 say to each other, one packet each on a
//! sequenced-packet socket. Packets from inside are parsed as hostile: pid 1 shares its user id
//! with the program that it guards.

use bailiwick_event::LimitKind;
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

/// From pid 1 to the supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// New user namespace entered; its id maps can be written.
    MapIds,
    /// Everything is set up; descriptors come along in the order of the field.
    Ready {
        /// What each descriptor is.
        descriptors: Vec<Carried>,
    },
    /// A step failed; nothing was started.
    Failed {
        /// What was being done.
        stage: String,
        /// The error number; 0 where there was none.
        errno: i32,
    },
    /// The command could not be executed.
    ExecFailed {
        /// Why.
        errno: i32,
    },
    /// The command was stopped by a signal.
    Stopped {
        /// Which.
        signal: i32,
    },
    /// The command ended and nothing else is left.
    Exited {
        /// As a shell reports it.
        code: u8,
    },
    /// A limit was reached.
    Limit {
        /// Which.
        kind: LimitKind,
        /// What was seen.
        observed: u64,
    },
}

/// A descriptor that comes with [`Report::Ready`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Carried {
    /// Transparent TCP listener.
    Tcp,
    /// Transparent UDP socket at port 53.
    Dns,
    /// Transparent UDP socket for every other port.
    Udp,
    /// Proxy listener.
    Proxy,
    /// Listener at a granted loopback port.
    Loopback,
    /// Master side of the pseudo-terminal.
    Pty,
}

/// From the supervisor to pid 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The id maps are written.
    IdsMapped,
    /// Start the command.
    Go,
    /// Send a signal to the command's process group.
    Signal(i32),
    /// Open a connection to this port of the sandbox's loopback.
    Connect(u16),
}

/// A packet is at most this long; a longer one is truncated by the kernel and does not parse.
const PACKET: usize = 8 * 1024;
/// A packet carries at most this many descriptors.
pub(crate) const DESCRIPTORS: usize = 128;

/// Sends one packet with descriptors.
pub(crate) fn send<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    descriptors: &[impl AsFd],
) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !borrowed.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&borrowed)) {
        return Err(io::Error::other("too many descriptors for one packet"));
    }
    sendmsg(
        socket,
        &[IoSlice::new(&bytes)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// Sends one packet without descriptors.
pub(crate) fn tell<T: Serialize>(socket: impl AsFd, message: &T) -> io::Result<()> {
    send(socket, message, &[] as &[OwnedFd])
}

/// Receives one packet; `None` when the other side is gone.
pub(crate) fn receive<T: for<'de> Deserialize<'de>>(
    socket: impl AsFd,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; PACKET];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut slices = [IoSliceMut::new(&mut bytes)];
        match recvmsg(
            &socket,
            &mut slices,
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        ) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    let message = serde_json::from_slice(&bytes[..received.bytes])?;
    Ok(Some((message, descriptors)))
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
