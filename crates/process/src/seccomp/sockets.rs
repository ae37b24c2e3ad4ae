//! What a program may do with sockets. In a network of its own nearly everything: nothing leads out
//! of it. On the host's network it gets sockets of TCP that only the supervisor connects, so that
//! every other call that would give a socket an address, lead a connection past its route, or send
//! to an address is refused. All of it stands in registers, where it cannot change after it was
//! looked at.

use super::assembler::Verdict;
use super::table::Network;
use libc::{EACCES, EAFNOSUPPORT, ENOPROTOOPT, EOPNOTSUPP, EPROTONOSUPPORT};

/// A condition for each of some arguments.
type Require = &'static [(u32, &'static [u32], i32)];

const UNIX: u32 = 1;
const V4: u32 = 2;
const V6: u32 = 10;
/// `SOCK_STREAM` with each of the flags that a type can carry.
const STREAM: [u32; 4] = with_flags(1);
const SEQPACKET: [u32; 4] = with_flags(5);
/// The kernel's default, and TCP by its number.
const TCP_BY_NUMBER: [u32; 2] = [0, 6];

const fn with_flags(kind: u32) -> [u32; 4] {
    const NONBLOCK: u32 = 0o4000;
    const CLOEXEC: u32 = 0o2_000_000;
    [
        kind,
        kind | NONBLOCK,
        kind | CLOEXEC,
        kind | NONBLOCK | CLOEXEC,
    ]
}

/// `socket`: TCP alone.
pub(super) const TCP: Require = &[
    (0, &[V4, V6], EAFNOSUPPORT),
    (1, &STREAM, EACCES),
    (2, &TCP_BY_NUMBER, EPROTONOSUPPORT),
];

/// `socketpair`.
pub(super) const PAIR: Require = &[(0, &[UNIX], EAFNOSUPPORT)];

/// `socketpair` on the host: a pair of datagram sockets could send to any Unix socket there is.
pub(super) const CONNECTED_PAIR: Require = &[
    (0, &[UNIX], EAFNOSUPPORT),
    (
        1,
        &{
            let [a, b, c, d] = STREAM;
            let [e, f, g, h] = SEQPACKET;
            [a, b, c, d, e, f, g, h]
        },
        EACCES,
    ),
];

/// Sends the first bytes with the request for a connection, which it makes besides.
const FASTOPEN: u32 = 0x2000_0000;

/// The options of a socket that may be set on the host's network, by level. The rest binds it to an
/// interface (`SO_BINDTODEVICE`), routes it by way of another machine (`IP_OPTIONS`, `IPV6_RTHDR`),
/// has it connect by itself (`TCP_FASTOPEN_CONNECT`, `TCP_REPAIR`), speaks another protocol
/// (`TCP_ULP`), or is not known to be harmless.
const OPTIONS: &[(u32, &[u32])] = &[
    // SOL_SOCKET: reuse of addresses, buffers, keep-alive, priority, lingering, time limits, time
    // stamps, credentials of a Unix socket.
    (
        1,
        &[
            2, 6, 7, 8, 9, 10, 12, 13, 15, 16, 18, 20, 21, 29, 35, 63, 64, 66, 67, 76,
        ],
    ),
    // SOL_IP: type of service, time to live, path MTU, error queue.
    (0, &[1, 2, 10, 11]),
    // SOL_TCP: delays, keep-alive, time limits, congestion control, what is not sent yet.
    (6, &[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 16, 17, 18, 25, 36]),
    // SOL_IPV6: hop limit, path MTU, error queue, IPv6 alone, traffic class.
    (41, &[16, 23, 25, 26, 67]),
];

/// What a program on the host's network may not do with a socket, whether it made it or was started
/// with it.
pub(super) fn shared(network: Network) -> Vec<(i64, Verdict)> {
    let fastopen = |index| Verdict::FailIfBits {
        index,
        mask: FASTOPEN,
        errno: EOPNOTSUPP,
    };
    let mut calls = vec![
        (libc::SYS_bind, Verdict::Fail(EACCES)),
        (libc::SYS_listen, Verdict::Fail(EACCES)),
        (libc::SYS_sendto, fastopen(3)),
        (libc::SYS_sendmsg, fastopen(2)),
        (libc::SYS_sendmmsg, fastopen(3)),
        (
            libc::SYS_setsockopt,
            Verdict::FailUnlessNamed {
                index: 1,
                names: OPTIONS,
                errno: ENOPROTOOPT,
            },
        ),
    ];
    match network {
        Network::Own => Vec::new(),
        Network::None => {
            calls.push((libc::SYS_connect, Verdict::Fail(EACCES)));
            calls
        }
        // The write broker's filter takes `connect`.
        Network::Mediated => calls,
    }
}
