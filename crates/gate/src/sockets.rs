//! The sockets of a sandbox, made by the code that may enter its network namespace. The gate
//! never enters it: a mistake here cannot put the host's descriptors inside.

use std::fmt::Debug;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};

/// The port of the proxy on the sandbox's own loopback: HTTP and SOCKS5, told apart by the first
/// byte. Below the ephemeral range, and registered for nothing, so that no server is in its way.
pub const PROXY_PORT: u16 = 14_829;

/// What the gate listens on. Every socket is bound, TCP sockets listen; the gate makes them
/// non-blocking.
#[derive(Debug, Default)]
pub struct Sockets {
    /// `IP_TRANSPARENT` TCP listeners (IPv4 and IPv6): the local address of an accepted socket is
    /// where the program wanted to go.
    pub tcp: Vec<OwnedFd>,
    /// `IP_TRANSPARENT` UDP sockets bound to port 53, with `IP_RECVORIGDSTADDR` or
    /// `IPV6_RECVORIGDSTADDR` set: datagrams to any address, port 53.
    pub dns: Vec<OwnedFd>,
    /// The same for every other UDP port: attempts are recorded, nothing passes.
    pub udp: Vec<OwnedFd>,
    /// TCP listeners on the sandbox's loopback, port [`PROXY_PORT`].
    pub proxy: Vec<OwnedFd>,
    /// TCP listeners on the sandbox's 127.0.0.1 and ::1, one for each port that the policy grants
    /// on the host's loopback.
    pub loopback: Vec<OwnedFd>,
    /// TCP listeners on the host; each connection goes to this port of the sandbox's loopback.
    pub publish: Vec<(OwnedFd, u16)>,
    /// The calls of a sandbox that has no network of its own; it has none of the others then.
    pub calls: Option<Calls>,
}

/// What a sandbox without a network of its own asks for.
#[derive(Debug)]
pub struct Calls {
    /// Where its calls arrive.
    pub source: Box<dyn Source>,
    /// Ports that the policy grants on the host's loopback.
    pub loopback: Vec<u16>,
}

/// A program's call of `connect`, which waits for its answer.
#[derive(Debug)]
pub struct Call {
    /// By which the answer finds its call.
    pub number: u64,
    /// What the program would connect: whatever it has open, with the state that the program shares.
    pub socket: OwnedFd,
    /// The address, as the program wrote it.
    pub address: Vec<u8>,
}

/// Where calls arrive. They are made for the program, which cannot make them itself.
pub trait Source: Send + Debug {
    /// Readable when there is a call.
    fn readable(&self) -> BorrowedFd<'_>;

    /// Waits for the next call; none when nobody is left who could make one.
    ///
    /// # Errors
    /// What came could not be read.
    fn next(&self) -> io::Result<Option<Call>>;

    /// Lets the call return: with this error number, or 0.
    ///
    /// # Errors
    /// Nobody is left to hear it.
    fn answer(&self, number: u64, errno: i32) -> io::Result<()>;
}

/// The kind of a socket's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpFamily {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// The way from the host into the sandbox's network.
pub trait Inside: Send + Sync {
    /// A non-blocking TCP socket that was created inside the sandbox and is connecting to this
    /// address; the connection may still be in progress. Any address but those of the loopback leads
    /// to the gate's own listeners, with that address as the destination.
    ///
    /// # Errors
    /// Where the sandbox is gone or refuses at once.
    fn connect_to(&self, to: SocketAddr) -> io::Result<OwnedFd>;

    /// A non-blocking, unbound UDP socket that was created inside the sandbox: what is sent with it
    /// comes to the gate's own sockets.
    ///
    /// # Errors
    /// Where the sandbox is gone or has no such addresses.
    fn datagrams(&self, family: IpFamily) -> io::Result<OwnedFd>;

    /// The same as [`Inside::connect_to`], with a server at this port of the sandbox's loopback.
    ///
    /// # Errors
    /// Those of [`Inside::connect_to`].
    fn connect(&self, port: u16) -> io::Result<OwnedFd> {
        self.connect_to((Ipv4Addr::LOCALHOST, port).into())
    }
}
