//! The sandbox's network: a namespace with nothing but `lo`, in which every address that exists
//! anywhere is local (AnyIP) and every packet for one of them is handed to a listener of the
//! gate. There is no interface, bridge or helper through which anything else could leave.

use crate::kernel::{self, set_option};
use crate::message::Carried;
use crate::netlink::{ACK, Batch, CREATE, EXCL, REQUEST};
use crate::nftables;
use bailiwick_policy::NetworkPolicy;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, getsockname, listen, socket_with, sockopt,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 512;
/// `NETLINK_ROUTE`.
const ROUTE: u32 = 0;
/// `SOL_IP` and `SOL_IPV6` options that the libraries do not name.
const IP_TRANSPARENT: i32 = 19;
const IP_RECVORIGDSTADDR: i32 = 20;
const IPV6_TRANSPARENT: i32 = 75;
const IPV6_RECVORIGDSTADDR: i32 = 74;

/// The folder of the kernel's settings, opened while `/proc` is there: what it shows of a network
/// is that of whoever looks.
pub(crate) fn settings() -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/proc/sys", flags, Mode::empty())?)
}

/// Makes a network namespace for this thread alone and sets what the kernel keeps in files.
/// Returns the namespace, and whether there is IPv6 in it.
pub(crate) fn begin(settings: &OwnedFd) -> io::Result<(OwnedFd, bool)> {
    kernel::unshare(libc::CLONE_NEWNET)?;
    let set = |name: &str, value: &[u8]| -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let file = openat(settings, name, flags, Mode::empty())?;
        rustix::io::write(file, value)?;
        Ok(())
    };
    let v6 = statat(settings, "net/ipv6", AtFlags::empty()).is_ok();
    // A ping would be answered by the sandbox itself, which would look like a reachable network.
    set("net/ipv4/icmp_echo_ignore_all", b"1")?;
    if v6 {
        set("net/ipv6/icmp/echo_ignore_all", b"1")?;
    }
    // The namespace is the sandbox's own: a development server may listen at any port.
    set("net/ipv4/ip_unprivileged_port_start", b"0")?;
    let any = socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    Ok((kernel::network_of(any)?, v6))
}

/// Enters a network namespace.
pub(crate) fn enter(namespace: &OwnedFd) -> io::Result<()> {
    let network = Some(LinkNameSpaceType::Network);
    Ok(move_into_link_name_space(namespace.as_fd(), network)?)
}

/// Builds the network of the current, new namespace and returns the gate's sockets. Reads no file:
/// meanwhile another thread changes what the root is.
pub(crate) fn set_up(v6: bool) -> io::Result<Vec<(Carried, OwnedFd)>> {
    bring_up(v6)?;
    let mut sockets = Vec::new();
    let v4 = listeners(IpAddr::V4(Ipv4Addr::LOCALHOST), 0, &mut sockets)?;
    if v6 {
        // TPROXY names one port for both families; the sockets of IPv6 take those of IPv4.
        let local = IpAddr::V6(Ipv6Addr::LOCALHOST);
        transparent(SocketAddr::new(local, v4.tcp), Carried::Tcp, &mut sockets)?;
        transparent(SocketAddr::new(local, v4.dns), Carried::Dns, &mut sockets)?;
        transparent(SocketAddr::new(local, v4.udp), Carried::Udp, &mut sockets)?;
    }
    let proxy = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), bailiwick_gate::PROXY_PORT);
    sockets.push((Carried::Proxy, listener(proxy)?));
    nftables::install(v4, v6)?;
    Ok(sockets)
}

/// Listens where the host's loopback services are that the sandbox may reach.
pub(crate) fn grant(ports: &[u16], v6: bool) -> io::Result<Vec<(Carried, OwnedFd)>> {
    let mut sockets = Vec::with_capacity(2 * ports.len());
    for &port in ports {
        let mut addresses = vec![IpAddr::from(Ipv4Addr::LOCALHOST)];
        if v6 {
            addresses.push(Ipv6Addr::LOCALHOST.into());
        }
        for address in addresses {
            let socket = listener(SocketAddr::new(address, port))?;
            sockets.push((Carried::Loopback, socket));
        }
    }
    Ok(sockets)
}

/// Whether there are machines that a policy grants.
pub(crate) fn grants_any(policy: &NetworkPolicy) -> bool {
    !(policy.allow.is_empty() && policy.hosts.is_empty() && policy.http.is_empty())
}

/// Starts `lo` and makes every address local.
fn bring_up(v6: bool) -> io::Result<()> {
    const NEW_LINK: u16 = 16;
    const NEW_ROUTE: u16 = 24;
    const LO: i32 = 1;
    const UP: u32 = 1;
    const TABLE_LOCAL: u8 = 255;
    const BY_ADMINISTRATOR: u8 = 4;
    const TYPE_LOCAL: u8 = 2;
    const OUTPUT_INTERFACE: u16 = 4;
    const PREFERRED_SOURCE: u16 = 7;
    let mut batch = Batch::new();
    let mut link = [0_u8; 16];
    link[4..8].copy_from_slice(&LO.to_ne_bytes());
    link[8..12].copy_from_slice(&UP.to_ne_bytes());
    link[12..16].copy_from_slice(&UP.to_ne_bytes());
    let open = batch.begin(NEW_LINK, REQUEST | ACK, &link);
    batch.end(&open);
    for (family, scope) in [(2_u8, 254_u8), (10, 0)] {
        if family == 10 && !v6 {
            continue;
        }
        let route = [
            family,
            0,
            0,
            0,
            TABLE_LOCAL,
            BY_ADMINISTRATOR,
            scope,
            TYPE_LOCAL,
            0,
            0,
            0,
            0,
        ];
        let open = batch.begin(NEW_ROUTE, REQUEST | ACK | CREATE | EXCL, &route);
        batch.attribute(OUTPUT_INTERFACE, &LO.to_ne_bytes());
        if family == 2 {
            // The source of what is sent to any address: answers then come back to 127.0.0.1,
            // which is the program's, and not to an address that is the gate's.
            batch.attribute(PREFERRED_SOURCE, &Ipv4Addr::LOCALHOST.octets());
        }
        batch.end(&open);
    }
    batch.send(ROUTE)
}

/// The transparent sockets of one family.
fn listeners(
    local: IpAddr,
    port: u16,
    sockets: &mut Vec<(Carried, OwnedFd)>,
) -> io::Result<nftables::Ports> {
    let any = SocketAddr::new(local, port);
    Ok(nftables::Ports {
        tcp: transparent(any, Carried::Tcp, sockets)?,
        dns: transparent(SocketAddr::new(local, 53), Carried::Dns, sockets)?,
        udp: transparent(any, Carried::Udp, sockets)?,
    })
}

fn family(address: SocketAddr) -> AddressFamily {
    if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    }
}

/// Makes one transparent socket, adds it to `sockets` and returns its port.
fn transparent(
    address: SocketAddr,
    kind: Carried,
    sockets: &mut Vec<(Carried, OwnedFd)>,
) -> io::Result<u16> {
    let stream = kind == Carried::Tcp;
    let kind_of_socket = if stream {
        SocketType::STREAM
    } else {
        SocketType::DGRAM
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family(address), kind_of_socket, flags, None)?;
    let (level, option, destination) = if address.is_ipv4() {
        (libc::SOL_IP, IP_TRANSPARENT, IP_RECVORIGDSTADDR)
    } else {
        sockopt::set_ipv6_v6only(&socket, true)?;
        (libc::SOL_IPV6, IPV6_TRANSPARENT, IPV6_RECVORIGDSTADDR)
    };
    set_option(&socket, level, option, 1)?;
    if !stream {
        set_option(&socket, level, destination, 1)?;
    }
    bind(&socket, &address)?;
    if stream {
        listen(&socket, BACKLOG)?;
    }
    let bound =
        SocketAddr::try_from(getsockname(&socket)?).map_err(|e: Errno| io::Error::from(e))?;
    sockets.push((kind, socket));
    Ok(bound.port())
}

/// An ordinary listener.
fn listener(address: SocketAddr) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family(address), SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Opens a connection in the sandbox's network; it is in progress when this returns.
pub(crate) fn dial(to: SocketAddr) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family(to), SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// Makes a socket for datagrams in the sandbox's network.
pub(crate) fn datagrams(v6: bool) -> io::Result<OwnedFd> {
    let family = match v6 {
        true => AddressFamily::INET6,
        false => AddressFamily::INET,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, SocketType::DGRAM, flags, None)?)
}
