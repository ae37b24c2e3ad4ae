//! Receives datagrams with the address that they were sent to, and answers from that address.
//! The one file of this crate with unsafe code: neither the standard library nor rustix speaks
//! these control messages, and without them an answer would come from an address that the
//! program never asked.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Space for the control messages, aligned as they have to be.
#[repr(C, align(8))]
struct Control([u8; 256]);

/// A datagram's length and addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes that were written to the buffer.
    pub length: usize,
    /// Whether the datagram was longer than the buffer.
    pub cut: bool,
    /// Who sent it.
    pub source: SocketAddr,
    /// Where it was sent to.
    pub destination: SocketAddr,
}

/// Takes one datagram off a non-blocking socket.
///
/// # Errors
/// `WouldBlock` where there is none; `InvalidData` where the kernel did not say where it was sent
/// to (the socket lacks `IP_RECVORIGDSTADDR`).
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Received> {
    let mut control = Control([0; 256]);
    // SAFETY: these are plain structures of the C interface, for which all zeroes is a value.
    let (mut source, mut header): (libc::sockaddr_storage, libc::msghdr) = unsafe { zeroed() };
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    header.msg_name = (&raw mut source).cast();
    header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut control).cast();
    header.msg_controllen = size_of::<Control>() as _;
    // SAFETY: every pointer of the header points to memory that outlives the call and has the
    // length that stands beside it.
    let length = unsafe {
        libc::recvmsg(
            socket.as_raw_fd(),
            &raw mut header,
            libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC,
        )
    };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    let mut destination = None;
    // SAFETY: the header is as the kernel left it, and its control buffer is still alive.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(&raw const header) };
    while !message.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR give null or a whole, aligned message header.
        let found = unsafe { *message };
        let wanted = match (found.cmsg_level, found.cmsg_type) {
            (libc::SOL_IP, libc::IP_ORIGDSTADDR) => size_of::<libc::sockaddr_in>(),
            (libc::SOL_IPV6, libc::IPV6_ORIGDSTADDR) => size_of::<libc::sockaddr_in6>(),
            _ => usize::MAX,
        };
        // SAFETY: CMSG_LEN only computes.
        let head = unsafe { libc::CMSG_LEN(0) } as usize;
        // The width of this field is the C library's.
        let whole: usize = found.cmsg_len as _;
        if whole.saturating_sub(head) >= wanted {
            // SAFETY: as above; all zeroes is an address of no family.
            let mut address: libc::sockaddr_storage = unsafe { zeroed() };
            // SAFETY: the message was checked to hold `wanted` bytes after its header, and an
            // address storage is larger than any address.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    libc::CMSG_DATA(message),
                    (&raw mut address).cast::<u8>(),
                    wanted,
                );
            }
            destination = read_address(&address);
        }
        // SAFETY: `message` came from this header.
        message = unsafe { libc::CMSG_NXTHDR(&raw const header, message) };
    }
    match (read_address(&source), destination) {
        (Some(source), Some(destination)) => Ok(Received {
            length,
            cut: header.msg_flags & libc::MSG_TRUNC != 0,
            source,
            destination,
        }),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the kernel did not say where a datagram was sent to",
        )),
    }
}

/// Sends a datagram that comes from `from`, at the port that the socket is bound to.
///
/// # Errors
/// `WouldBlock` where the socket's buffer is full, or what the kernel says.
pub fn send(
    socket: BorrowedFd<'_>,
    payload: &[u8],
    from: IpAddr,
    to: SocketAddr,
) -> io::Result<()> {
    let mut control = Control([0; 256]);
    // SAFETY: these are plain structures of the C interface, for which all zeroes is a value.
    let (mut name, mut header): (libc::sockaddr_storage, libc::msghdr) = unsafe { zeroed() };
    let mut part = libc::iovec {
        iov_base: payload.as_ptr().cast_mut().cast(),
        iov_len: payload.len(),
    };
    header.msg_namelen = write_address(&mut name, to);
    header.msg_name = (&raw mut name).cast();
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut control).cast();
    match from {
        IpAddr::V4(ip) => {
            let info = libc::in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: libc::in_addr {
                    s_addr: u32::from_ne_bytes(ip.octets()),
                },
                ipi_addr: libc::in_addr { s_addr: 0 },
            };
            put(&mut header, libc::SOL_IP, libc::IP_PKTINFO, info);
        }
        IpAddr::V6(ip) => {
            let info = libc::in6_pktinfo {
                ipi6_addr: libc::in6_addr {
                    s6_addr: ip.octets(),
                },
                ipi6_ifindex: 0,
            };
            put(&mut header, libc::SOL_IPV6, libc::IPV6_PKTINFO, info);
        }
    }
    // SAFETY: every pointer of the header points to memory that outlives the call and has the
    // length that stands beside it; the kernel only reads it.
    let sent = unsafe {
        libc::sendmsg(
            socket.as_raw_fd(),
            &raw const header,
            libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
        )
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Writes the only control message of a header whose control pointer leads to a [`Control`].
fn put<T: Copy>(header: &mut libc::msghdr, level: i32, kind: i32, value: T) {
    let size = size_of::<T>() as u32;
    // SAFETY: CMSG_SPACE only computes.
    header.msg_controllen = unsafe { libc::CMSG_SPACE(size) } as _;
    // SAFETY: the control buffer is 256 zeroed bytes, aligned for a header; both values that are
    // put into it are below 32 bytes, so that header and value fit.
    unsafe {
        let message = libc::CMSG_FIRSTHDR(header);
        (*message).cmsg_level = level;
        (*message).cmsg_type = kind;
        (*message).cmsg_len = libc::CMSG_LEN(size) as _;
        libc::CMSG_DATA(message).cast::<T>().write_unaligned(value);
    }
}

fn read_address(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says what it holds, and the storage is larger and as aligned.
            let v4 = unsafe { *(&raw const *storage).cast::<libc::sockaddr_in>() };
            let ip = v4.sin_addr.s_addr.to_ne_bytes();
            Some(SocketAddrV4::new(ip.into(), u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { *(&raw const *storage).cast::<libc::sockaddr_in6>() };
            let (ip, port) = (v6.sin6_addr.s6_addr, u16::from_be(v6.sin6_port));
            Some(SocketAddrV6::new(ip.into(), port, 0, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

fn write_address(storage: &mut libc::sockaddr_storage, address: SocketAddr) -> libc::socklen_t {
    match address {
        SocketAddr::V4(a) => {
            let v4 = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: a.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(a.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is larger than any address and as aligned.
            unsafe { (&raw mut *storage).cast::<libc::sockaddr_in>().write(v4) };
            size_of::<libc::sockaddr_in>() as libc::socklen_t
        }
        SocketAddr::V6(a) => {
            let v6 = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: a.port().to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr {
                    s6_addr: a.ip().octets(),
                },
                sin6_scope_id: a.scope_id(),
            };
            // SAFETY: the storage is larger than any address and as aligned.
            unsafe { (&raw mut *storage).cast::<libc::sockaddr_in6>().write(v6) };
            size_of::<libc::sockaddr_in6>() as libc::socklen_t
        }
    }
}

#[cfg(test)]
#[path = "datagram_tests.rs"]
pub(crate) mod tests;
