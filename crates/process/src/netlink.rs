//! Netlink messages, written by hand: a sandbox needs six of them, and a library for all of
//! netlink would cost more start-up time than the rest of the network's set-up.

use rustix::fd::OwnedFd;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use std::io;

/// `NLM_F_REQUEST`, `NLM_F_ACK`, `NLM_F_EXCL`, `NLM_F_CREATE`, `NLM_F_APPEND` (linux/netlink.h).
pub(crate) const REQUEST: u16 = 1;
pub(crate) const ACK: u16 = 4;
pub(crate) const EXCL: u16 = 0x200;
pub(crate) const CREATE: u16 = 0x400;
pub(crate) const APPEND: u16 = 0x800;

/// Messages under construction: one buffer, sent as one packet.
pub(crate) struct Batch {
    bytes: Vec<u8>,
    sequence: u32,
    acknowledged: u32,
}

/// An open message or nested attribute: where its length stands.
pub(crate) struct Open(usize);

impl Batch {
    pub(crate) fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(2048),
            sequence: 0,
            acknowledged: 0,
        }
    }

    /// Begins a message with its fixed part.
    pub(crate) fn begin(&mut self, kind: u16, flags: u16, fixed: &[u8]) -> Open {
        self.sequence += 1;
        self.acknowledged += u32::from(flags & ACK != 0);
        let open = Open(self.bytes.len());
        self.bytes.extend(0_u32.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(flags.to_ne_bytes());
        self.bytes.extend(self.sequence.to_ne_bytes());
        self.bytes.extend(0_u32.to_ne_bytes());
        self.bytes.extend(fixed);
        self.pad();
        open
    }

    /// Ends a message.
    pub(crate) fn end(&mut self, open: &Open) {
        let length = (self.bytes.len() - open.0) as u32;
        self.bytes[open.0..open.0 + 4].copy_from_slice(&length.to_ne_bytes());
    }

    /// Adds an attribute.
    pub(crate) fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.bytes.extend((value.len() as u16 + 4).to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.pad();
    }

    /// Adds a text attribute, with the NUL that the kernel expects.
    pub(crate) fn text(&mut self, kind: u16, value: &str) {
        self.attribute(kind, &[value.as_bytes(), &[0]].concat());
    }

    /// Adds a number as nftables wants it, in network order.
    pub(crate) fn number(&mut self, kind: u16, value: u32) {
        self.attribute(kind, &value.to_be_bytes());
    }

    /// Adds an attribute that holds attributes.
    pub(crate) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        const NESTED: u16 = 0x8000;
        let start = self.bytes.len();
        self.attribute(kind | NESTED, &[]);
        fill(self);
        let length = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
    }

    fn pad(&mut self) {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
    }

    /// Sends everything on a new socket of the protocol and waits for every acknowledgement.
    pub(crate) fn send(self, protocol: u32) -> io::Result<()> {
        let socket = open(protocol)?;
        send(&socket, &self.bytes, SendFlags::empty())?;
        let mut left = self.acknowledged;
        let mut buffer = [0_u8; 8192];
        while left > 0 {
            let (length, _) = recv(&socket, &mut buffer, RecvFlags::empty())?;
            left = left.saturating_sub(acknowledgements(&buffer[..length])?);
        }
        Ok(())
    }
}

fn open(protocol: u32) -> io::Result<OwnedFd> {
    let protocol = std::num::NonZeroU32::new(protocol).map(rustix::net::Protocol::from_raw);
    Ok(socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        protocol,
    )?)
}

/// Counts the acknowledgements in a packet from the kernel; the first refusal is the error.
fn acknowledgements(mut packet: &[u8]) -> io::Result<u32> {
    const ERROR: u16 = 2;
    let mut count = 0;
    while let [a, b, c, d, kind0, kind1, ..] = *packet {
        let length = u32::from_ne_bytes([a, b, c, d]) as usize;
        if length < 16 || length > packet.len() {
            break;
        }
        if u16::from_ne_bytes([kind0, kind1]) == ERROR && length >= 20 {
            let errno = i32::from_ne_bytes([packet[16], packet[17], packet[18], packet[19]]);
            if errno != 0 {
                return Err(io::Error::from_raw_os_error(-errno));
            }
            count += 1;
        }
        packet = &packet[length.next_multiple_of(4).min(packet.len())..];
    }
    Ok(count)
}
