//! Ways to other machines, and to what serves on this one.

use super::processes::answered;
use super::wait;
use crate::act::{nothing, owned};
use crate::field::{ANSWERED, Field, TOKEN};
use crate::row::{Row, Shown, bare, bare_root, container, container_root, full, root, row, user};
use crate::services::{NAMESERVER, PROXY};
use crate::sys::{Word, call};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::time::Duration;

/// The namespace and its gate; where there is none, the filter, and Landlock for TCP.
const TCP: &[Shown] = &[
    full("network"),
    bare("seccomp,landlock"),
    container("seccomp,landlock"),
];
const UDP: &[Shown] = &[full("network"), bare("seccomp"), container("seccomp")];
const FILTER: &[Shown] = &[full("seccomp"), bare("seccomp"), container("seccomp")];
const RIGHTS: &[Shown] = &[
    user("capabilities"),
    root("capabilities,identity"),
    bare_root("seccomp,capabilities"),
    container_root("seccomp,capabilities"),
];
const FILTERED_RIGHTS: &[Shown] = &[
    user("seccomp,capabilities"),
    root("seccomp,capabilities,identity"),
    bare_root("seccomp,capabilities"),
    container_root("seccomp,capabilities"),
];
const PATH: &[Shown] = &[
    user("mounts"),
    root("mounts,identity"),
    bare("seccomp"),
    container("seccomp"),
];
const NEW_PATH: &[Shown] = &[
    user("mounts,landlock"),
    root("mounts,landlock,identity"),
    bare("seccomp,landlock"),
    container("seccomp,landlock"),
];
const ABSTRACT: &[Shown] = &[
    full("network,landlock"),
    bare("seccomp,landlock"),
    container("seccomp,landlock"),
];

/// A server of the internet, in the documentation's range.
const SERVER: &str = "192.0.2.10";
/// The rows.
pub(super) fn rows() -> Vec<Row> {
    [tcp(), datagrams(), proxy(), families(), rights(), unix()]
        .into_iter()
        .flatten()
        .collect()
}

/// What a server answers over TCP.
fn dial(address: &str, port: u16) -> io::Result<()> {
    dial_within(address, port, ANSWERED)
}

fn dial_within(address: &str, port: u16, patience: Duration) -> io::Result<()> {
    let ip: IpAddr = address.parse().map_err(io::Error::other)?;
    let stream = TcpStream::connect_timeout(&SocketAddr::new(ip, port), ANSWERED)?;
    stream.set_read_timeout(Some(patience))?;
    token(stream)
}

fn token(mut stream: impl Read) -> io::Result<()> {
    let mut bytes = [0; 200];
    let mut found = Vec::new();
    loop {
        match stream.read(&mut bytes)? {
            0 => return Err(nothing("the host does not answer")),
            length => found.extend_from_slice(&bytes[..length]),
        }
        if found.windows(TOKEN.len()).any(|part| part == TOKEN) {
            return Ok(());
        }
    }
}

fn tcp() -> Vec<Row> {
    vec![
        row("tcp4", "connects to an address of the internet", |f| {
            dial(SERVER, f.port())
        })
        .shown(TCP)
        .full("ECONNRESET")
        .bare("EAFNOSUPPORT"),
        row("tcp6", "connects to an IPv6 address", |f| {
            dial("2001:db8::10", f.port())
        })
        .shown(TCP)
        .full("ECONNRESET")
        .bare("EAFNOSUPPORT"),
        row(
            "tcp-mapped",
            "connects to an IPv4 address in IPv6's form",
            |f| dial("::ffff:192.0.2.10", f.port()),
        )
        .shown(TCP)
        .full("ECONNRESET")
        .bare("EAFNOSUPPORT"),
        row(
            "tcp-private",
            "connects to an address of the internal network",
            |f| dial("10.1.2.3", f.port()),
        )
        .shown(TCP)
        .full("ECONNRESET")
        .bare("EAFNOSUPPORT"),
        row(
            "tcp-metadata",
            "connects to where clouds keep credentials",
            |_| dial("169.254.169.254", 80),
        )
        .shown(TCP)
        .full("ECONNRESET")
        .bare("EAFNOSUPPORT"),
        row(
            "tcp-loopback",
            "connects to a service on the host's loopback",
            |f| dial("127.0.0.1", f.port()),
        )
        .shown(TCP)
        .full("ECONNREFUSED")
        .bare("EAFNOSUPPORT"),
        row("tcp-loopback6", "the same by IPv6", |f| {
            dial("::1", f.port())
        })
        .shown(TCP)
        .full("ECONNREFUSED")
        .bare("EAFNOSUPPORT"),
        row(
            "tcp-any",
            "connects to 0.0.0.0, which means the own machine",
            |f| dial("0.0.0.0", f.port()),
        )
        .shown(TCP)
        .full("ECONNREFUSED")
        .bare("EAFNOSUPPORT"),
        row(
            "tcp-fast-open",
            "connects by sending at once (MSG_FASTOPEN)",
            |f| {
                let socket = socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
                let mut address = vec![2, 0];
                address.extend(f.port().to_be_bytes());
                address.extend([192, 0, 2, 10]);
                address.extend([0; 8]);
                call(
                    libc::SYS_sendto,
                    &mut [
                        Word::N(socket.as_raw_fd().into()),
                        Word::R(b"x"),
                        Word::N(1),
                        Word::N(libc::MSG_FASTOPEN.into()),
                        Word::R(&address),
                        Word::N(16),
                    ],
                )?;
                let stream = TcpStream::from(socket);
                stream.set_read_timeout(Some(f.patience()))?;
                token(stream)
            },
        )
        .shown(TCP)
        .full("EAGAIN ECONNRESET")
        .bare("EAFNOSUPPORT"),
        row(
            "dns-tcp",
            "asks a name server of the internet over TCP",
            |f| dial_within(SERVER, 53, f.patience()),
        )
        .shown(TCP)
        .full("EAGAIN ECONNRESET nothing")
        .bare("EAFNOSUPPORT"),
        row("dns-tls", "asks one over TLS", |_| dial(SERVER, 853))
            .shown(TCP)
            .full("ECONNRESET")
            .bare("EAFNOSUPPORT"),
        row(
            "https",
            "connects to where DNS over HTTPS and everything else is",
            |_| dial(SERVER, 443),
        )
        .shown(TCP)
        .full("ECONNRESET")
        .bare("EAFNOSUPPORT"),
    ]
}

/// What a server answers to a datagram.
fn ask(
    from: &str,
    (address, port): (&str, u16),
    bytes: &[u8],
    patience: Duration,
) -> io::Result<()> {
    let socket = UdpSocket::bind((from, 0))?;
    socket.set_read_timeout(Some(patience))?;
    socket.connect((address, port))?;
    socket.send(bytes)?;
    let mut answer = [0; 600];
    let length = socket.recv(&mut answer)?;
    match answer[..length] == *TOKEN {
        true => Ok(()),
        false => Err(nothing("another answers")),
    }
}

/// A question for a name that carries something out.
const QUESTION: &[u8] = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x06secret\x04evil\x04test\0\0\x01\0\x01";

fn datagrams() -> Vec<Row> {
    vec![
        row(
            "udp4",
            "sends a datagram to an address of the internet",
            |f| ask("0.0.0.0", (SERVER, f.port()), b"x", f.patience()),
        )
        .shown(UDP)
        .full("EAGAIN")
        .bare("EAFNOSUPPORT"),
        row("udp6", "sends a datagram to an IPv6 address", |f| {
            ask("::", ("2001:db8::10", f.port()), b"x", f.patience())
        })
        .shown(UDP)
        .full("EAGAIN")
        .bare("EAFNOSUPPORT"),
        row("quic", "speaks QUIC, past whatever looks at TCP", |f| {
            ask("0.0.0.0", (SERVER, 443), b"x", f.patience())
        })
        .shown(UDP)
        .full("EAGAIN")
        .bare("EAFNOSUPPORT"),
        row(
            "udp-loopback",
            "sends a datagram to a service on the host's loopback",
            |f| ask("127.0.0.1", ("127.0.0.1", f.port()), b"x", ANSWERED),
        )
        .shown(UDP)
        .full("ECONNREFUSED")
        .bare("EAFNOSUPPORT"),
        row("dns-udp", "asks a name server of the internet", |_| {
            ask("0.0.0.0", (SERVER, 53), QUESTION, ANSWERED)
        })
        .shown(UDP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row(
            "dns-name",
            "carries something out in a name that it asks for",
            |_| ask("0.0.0.0", (&NAMESERVER.to_string(), 53), QUESTION, ANSWERED),
        )
        .shown(UDP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row("ping", "sends an echo request", |_| {
            let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP)?;
            let socket = UdpSocket::from(socket);
            socket.set_read_timeout(Some(ANSWERED))?;
            socket.connect((SERVER, 0))?;
            socket.send(&[8, 0, 0, 0, 0, 0, 0, 1])?;
            socket.recv(&mut [0; 100]).map(drop)
        })
        .shown(UDP)
        .full("EACCES")
        .bare("EAFNOSUPPORT"),
    ]
}

fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    let words = [family, kind | libc::SOCK_CLOEXEC, protocol];
    call(
        libc::SYS_socket,
        &mut words.map(|word| Word::N(word.into())),
    )
    .map(owned)
}

/// What a proxy lets through to the host.
fn through(head: &str) -> io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", PROXY))?;
    stream.set_read_timeout(Some(ANSWERED))?;
    stream.write_all(head.as_bytes())?;
    token(stream)
}

fn tunnel(target: &str) -> io::Result<()> {
    through(&format!(
        "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
    ))
}

/// The sandbox's proxy, asked for what no policy grants. Without the network layer it is the host's
/// proxy, which grants everything.
fn proxy() -> Vec<Row> {
    vec![
        row(
            "connect-name",
            "has the proxy connect to a name that is not granted",
            |_| tunnel("elsewhere.test:443"),
        )
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row("connect-dot", "the same with a dot at its end", |_| {
            tunnel("elsewhere.test.:443")
        })
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row("connect-punycode", "the same with an encoded name", |_| {
            tunnel("xn--e1afmkfd.test:443")
        })
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row(
            "connect-private",
            "has the proxy connect to the internal network",
            |_| tunnel("10.1.2.3:80"),
        )
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row(
            "connect-metadata",
            "has the proxy connect to where clouds keep credentials",
            |_| tunnel("169.254.169.254:80"),
        )
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row(
            "connect-localhost",
            "has the proxy connect to the host's loopback",
            |_| tunnel("localhost:80"),
        )
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row("connect-any", "has the proxy connect to 0.0.0.0", |_| {
            tunnel("0.0.0.0:80")
        })
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row(
            "connect-decimal",
            "has the proxy connect to an address as one number",
            |_| tunnel("167838211:80"),
        )
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row(
            "connect-octal",
            "has the proxy connect to an address in octal and hexadecimal",
            |_| tunnel("012.0x1.02.3:80"),
        )
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row(
            "connect-mapped",
            "has the proxy connect to a mapped address",
            |_| tunnel("[::ffff:10.1.2.3]:80"),
        )
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row(
            "absolute-form",
            "asks the proxy for a page of the internal network",
            |_| through("GET http://10.1.2.3/ HTTP/1.1\r\nHost: 10.1.2.3\r\n\r\n"),
        )
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row(
            "other-host",
            "asks for one page and names another host in its head",
            |_| through("GET http://granted.test/ HTTP/1.1\r\nHost: 10.1.2.3\r\n\r\n"),
        )
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row(
            "socks-address",
            "has the proxy connect to an address (SOCKS5)",
            |_| socks(&[5, 1, 0, 1, 10, 1, 2, 3, 0, 80]),
        )
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row(
            "socks-name",
            "has the proxy connect to a name (SOCKS5)",
            |_| socks(b"\x05\x01\x00\x03\x0eelsewhere.test\x00\x50"),
        )
        .shown(TCP)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
    ]
}

fn socks(request: &[u8]) -> io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", PROXY))?;
    stream.set_read_timeout(Some(ANSWERED))?;
    stream.write_all(&[5, 1, 0])?;
    stream.read_exact(&mut [0; 2])?;
    stream.write_all(request)?;
    token(stream)
}

/// Kinds of sockets that reach past the network.
fn families() -> Vec<Row> {
    vec![
        row("vsock", "speaks to the hypervisor (AF_VSOCK)", |_| {
            socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0).map(drop)
        })
        .shown(FILTER)
        .full("EAFNOSUPPORT")
        .bare("EAFNOSUPPORT"),
        row(
            "packet",
            "sends packets of its own making (AF_PACKET)",
            |_| socket(libc::AF_PACKET, libc::SOCK_RAW, 0).map(drop),
        )
        .privileged()
        .shown(FILTERED_RIGHTS)
        .full("EAFNOSUPPORT")
        .bare("EAFNOSUPPORT"),
        row("netfilter", "speaks to the packet filter (netlink)", |_| {
            socket(libc::AF_NETLINK, libc::SOCK_RAW, 12).map(drop)
        })
        .shown(FILTER)
        .full("EAFNOSUPPORT")
        .bare("EAFNOSUPPORT"),
        row("uevents", "hears what happens to devices (netlink)", |_| {
            socket(libc::AF_NETLINK, libc::SOCK_RAW, 15).map(drop)
        })
        .shown(FILTER)
        .full("EAFNOSUPPORT")
        .bare("EAFNOSUPPORT"),
        row("socket-list", "lists the host's sockets (netlink)", |_| {
            socket(libc::AF_NETLINK, libc::SOCK_RAW, 4).map(drop)
        })
        .shown(FILTER)
        .full("EAFNOSUPPORT")
        .bare("EAFNOSUPPORT"),
        row("audit", "speaks to the audit system (netlink)", |_| {
            socket(libc::AF_NETLINK, libc::SOCK_RAW, 9).map(drop)
        })
        .shown(FILTER)
        .full("EAFNOSUPPORT")
        .bare("EAFNOSUPPORT"),
    ]
}

/// Rights over the network's own working.
fn rights() -> Vec<Row> {
    vec![
        row("raw-ip", "sends IP packets of its own making", |_| {
            socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP).map(drop)
        })
        .privileged()
        .shown(RIGHTS)
        .full("EPERM")
        .bare("EAFNOSUPPORT"),
        row("new-address", "gives the network another address", |_| {
            let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
            let mut request = [0_u8; 40];
            request[..4].copy_from_slice(b"lo:9");
            request[16..24].copy_from_slice(&[2, 0, 0, 0, 198, 51, 100, 9]);
            let fd = Word::N(socket.as_raw_fd().into());
            let number = libc::SIOCSIFADDR.cast_signed();
            call(
                libc::SYS_ioctl,
                &mut [fd, Word::N(number), Word::R(&request)],
            )
            .map(drop)
        })
        .privileged()
        .engine_withholds("EPERM")
        .shown(RIGHTS)
        .full("EPERM")
        .bare("EAFNOSUPPORT"),
        row(
            "transparent",
            "takes connections for the addresses of others",
            |_| {
                let socket = socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
                let on = 1_i32.to_ne_bytes();
                let words = &mut [
                    Word::N(socket.as_raw_fd().into()),
                    Word::N(libc::SOL_IP.into()),
                    Word::N(libc::IP_TRANSPARENT.into()),
                    Word::R(&on),
                    Word::N(4),
                ];
                call(libc::SYS_setsockopt, words).map(drop)
            },
        )
        .privileged()
        .shown(RIGHTS)
        .full("EPERM")
        .bare("EAFNOSUPPORT"),
    ]
}

fn unix() -> Vec<Row> {
    vec![
        row(
            "unix-service",
            "connects to a service of the host by its path",
            |f| answered(UnixStream::connect(f.outside().join("docker"))?.into()),
        )
        .shown(PATH)
        .full("ENOENT")
        .bare("EAFNOSUPPORT"),
        row("unix-agent", "asks the caller's key agent", |f| {
            answered(UnixStream::connect(f.text("agent"))?.into())
        })
        .shown(PATH)
        .full("ENOENT")
        .bare("EAFNOSUPPORT"),
        row(
            "unix-datagram",
            "sends to a service of the host by its path",
            |f| {
                let socket = UnixDatagram::unbound()?;
                socket
                    .send_to(f.id.as_bytes(), f.outside().join("log"))
                    .map(drop)
            },
        )
        .effect(|f| {
            let has_arrived = |what: &str| {
                let text = std::fs::read_to_string(f.outside().join("arrived"));
                text.is_ok_and(|text| text.lines().any(|line| line == what))
            };
            // When this one has arrived, those before it have.
            let behind = format!("behind {}", f.id);
            let log = f.outside().join("log");
            let socket = UnixDatagram::unbound();
            if socket.is_ok_and(|socket| socket.send_to(behind.as_bytes(), log).is_ok()) {
                wait::until("a datagram arrives", || has_arrived(&behind));
            }
            has_arrived(&f.id)
        })
        .shown(PATH)
        .full("ENOENT")
        .bare("EAFNOSUPPORT"),
        row(
            "unix-abstract",
            "connects to a service of the host that has no path",
            |f| {
                let name = f.text("abstract");
                let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
                answered(UnixStream::connect_addr(&address)?.into())
            },
        )
        .shown(ABSTRACT)
        .full("ECONNREFUSED")
        .bare("EAFNOSUPPORT"),
        row("unix-listen", "serves on the host, by a path", |f| {
            UnixListener::bind(f.folder().join("new")).map(drop)
        })
        .effect(|f: &Field| f.folder().join("new").exists())
        .shown(NEW_PATH)
        .full("ENOENT")
        .bare("EAFNOSUPPORT"),
    ]
}
