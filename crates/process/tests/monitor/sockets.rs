//! The way into a monitor's network.

use crate::world::{Live, World};
use bailiwick_gate::IpFamily;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Instant;

crate::tests![
    its_streams_are_sockets,
    a_connection_to_any_address_comes_to_the_gate,
    a_connection_to_its_loopback_comes_to_it,
    datagrams_come_to_the_gate,
];

fn its_streams_are_sockets() {
    let world = World::new(&[]);
    let mut live = world
        .start(
            "import os, stat, sys
print(*(stat.S_ISSOCK(os.fstat(fd).st_mode) for fd in (0, 1)), sys.stdin.isatty(), flush=True)
print(input()[::-1])
",
        )
        .unwrap();
    assert_eq!(live.hear(), "True True False");
    live.say("abc");
    assert_eq!(live.end().said(), "cba\n");
}

fn waiting(world: &World) -> Live {
    world.start("input()").unwrap()
}

fn wait_for(fd: impl AsFd) {
    assert_eq!(poll(&mut [PollFd::new(&fd, PollFlags::IN)], None), Ok(1));
}

/// The listener among these of the address's family.
fn of_family(sockets: &[OwnedFd], v4: bool) -> OwnedFd {
    let of = |fd: &&OwnedFd| {
        let name = SocketAddr::try_from(rustix::net::getsockname(fd).unwrap()).unwrap();
        name.is_ipv4() == v4
    };
    sockets.iter().find(of).unwrap().try_clone().unwrap()
}

fn a_connection_to_any_address_comes_to_the_gate() {
    let world = World::new(&[]);
    let mut live = waiting(&world);
    let inside = live.inside();
    for to in ["203.0.113.7:443", "10.1.2.3:80", "[2001:db8::7]:8080"] {
        let to: SocketAddr = to.parse().unwrap();
        let listener = TcpListener::from(of_family(&live.sockets().tcp, to.is_ipv4()));
        let mut client = TcpStream::from(inside.connect_to(to).unwrap());
        wait_for(&listener);
        let (mut server, _) = listener.accept().unwrap();
        assert_eq!(server.local_addr().unwrap(), to);
        client.write_all(b"hello").unwrap();
        let mut heard = [0; 5];
        wait_for(&server);
        server.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"hello");
    }
    let listener = TcpListener::from(of_family(&live.sockets().tcp, true));
    let since = Instant::now();
    for port in 1..=1000 {
        let client = inside.connect_to(([203, 0, 113, 9], port).into()).unwrap();
        wait_for(&listener);
        drop((client, listener.accept().unwrap()));
    }
    println!("  1000 connections: {:?}", since.elapsed());
    live.say("");
    live.end().said();
}

fn a_connection_to_its_loopback_comes_to_it() {
    let world = World::new(&[]);
    let mut live = world
        .start(
            "import socket
server = socket.create_server(('127.0.0.1', 4000))
print('listens', flush=True)
print(server.accept()[0].recv(5).decode())
",
        )
        .unwrap();
    assert_eq!(live.hear(), "listens");
    let mut client = TcpStream::from(live.inside().connect(4000).unwrap());
    poll(&mut [PollFd::new(&client, PollFlags::OUT)], None).unwrap();
    client.write_all(b"hello").unwrap();
    assert_eq!(live.end().said(), "hello\n");
}

fn datagrams_come_to_the_gate() {
    let world = World::new(&[]);
    let mut live = waiting(&world);
    for (family, to) in [
        (IpFamily::V4, "203.0.113.7:53"),
        (IpFamily::V6, "[2001:db8::7]:53"),
    ] {
        let to: SocketAddr = to.parse().unwrap();
        let client = UdpSocket::from(live.inside().datagrams(family).unwrap());
        client.send_to(b"question", to).unwrap();
        let server = of_family(&live.sockets().dns, to.is_ipv4());
        wait_for(&server);
        let mut heard = [0; 16];
        let (length, from) = UdpSocket::from(server).recv_from(&mut heard).unwrap();
        assert_eq!(&heard[..length], b"question");
        assert_eq!(from.port(), client.local_addr().unwrap().port());
    }
    live.say("");
    live.end().said();
}
