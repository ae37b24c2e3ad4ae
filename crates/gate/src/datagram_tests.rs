use super::*;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsFd;

/// A socket at every address, that is told where a datagram was sent to.
pub(crate) fn socket(address: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind(address).unwrap();
    let one: libc::c_int = 1;
    let (level, option) = match address {
        SocketAddr::V4(_) => (libc::SOL_IP, libc::IP_RECVORIGDSTADDR),
        SocketAddr::V6(_) => (libc::SOL_IPV6, libc::IPV6_RECVORIGDSTADDR),
    };
    // SAFETY: the option's value is an int, whose address and size are given.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const one).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    assert_eq!(set, 0, "{}", io::Error::last_os_error());
    socket.set_nonblocking(true).unwrap();
    socket
}

/// Waits for a datagram.
fn receive_one(socket: &UdpSocket, buffer: &mut [u8]) -> Received {
    use rustix::event::{PollFd, PollFlags, poll};
    assert_eq!(poll(&mut [PollFd::new(socket, PollFlags::IN)], None), Ok(1));
    receive(socket.as_fd(), buffer).unwrap()
}

#[test]
fn an_answer_comes_from_the_address_that_was_asked() {
    for (any, asked, client) in [
        (
            IpAddr::from(Ipv4Addr::UNSPECIFIED),
            "127.9.8.7",
            "127.0.0.1:0",
        ),
        (IpAddr::from(Ipv6Addr::UNSPECIFIED), "::1", "[::1]:0"),
    ] {
        let server = socket(SocketAddr::new(any, 0));
        let asked = SocketAddr::new(asked.parse().unwrap(), server.local_addr().unwrap().port());
        let client = UdpSocket::bind(client).unwrap();
        client.send_to(b"question", asked).unwrap();
        let mut buffer = [0; 100];
        let got = receive_one(&server, &mut buffer);
        assert_eq!(&buffer[..got.length], b"question");
        assert_eq!(
            (got.source, got.destination),
            (client.local_addr().unwrap(), asked)
        );
        assert!(!got.cut);
        send(server.as_fd(), b"answer", got.destination.ip(), got.source).unwrap();
        let (length, from) = client.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], from), (&b"answer"[..], asked));
    }
}

#[test]
fn a_datagram_that_does_not_fit_is_known_to_be_cut() {
    let server = socket("127.0.0.1:0".parse().unwrap());
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client
        .send_to(&[7; 9], server.local_addr().unwrap())
        .unwrap();
    let mut buffer = [0; 4];
    let got = receive_one(&server, &mut buffer);
    assert!(got.cut);
    assert_eq!((got.length, buffer), (4, [7; 4]));
}

#[test]
fn a_socket_that_is_not_told_the_destination_is_an_error() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.send_to(b"x", server.local_addr().unwrap()).unwrap();
    server.peek_from(&mut [0]).unwrap();
    let error = receive(server.as_fd(), &mut [0; 10]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}
