use super::*;
use crate::datagram::tests::socket;
use crate::ending::{BACKLOG, DRAIN};
use crate::settings::Settings;
use crate::testing::{Here, Script, deaf, names, reserve};
use bailiwick_event::{Act, Via};
use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RData, RecordType, rdata::A};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

fn bound(address: &str) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A server that greets whoever comes.
fn greeter(greeting: &'static str) -> SocketAddr {
    let (listener, address) = bound("127.0.0.1:0");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(greeting.as_bytes());
        }
    });
    address
}

fn read_all(address: SocketAddr) -> String {
    let mut text = String::new();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn start(sockets: Sockets, script: Script) -> (Gate, Arc<Script>) {
    let script = Arc::new(script);
    let gate = Gate::start_with(
        sockets,
        script.clone(),
        Arc::new(Here),
        names(),
        deaf(),
        Settings::default(),
    )
    .unwrap();
    (gate, script)
}

fn question() -> Vec<u8> {
    let mut message = Message::query();
    message.add_query(Query::query(
        Name::from_ascii("a.test.").unwrap(),
        RecordType::A,
    ));
    message.to_vec().unwrap()
}

fn answered(bytes: &[u8]) -> Ipv4Addr {
    match Message::from_vec(bytes).unwrap().answers[0].data {
        RData::A(A(ip)) => ip,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_name_is_looked_up_and_then_reached_through_its_address() {
    let server = greeter("welcome");
    let dns = socket("0.0.0.0:0".parse().unwrap());
    let any_server: SocketAddr = ([127, 8, 8, 8], dns.local_addr().unwrap().port()).into();
    let (tcp, address) = bound("0.0.0.0:0");
    let sockets = Sockets {
        dns: vec![dns.into()],
        tcp: vec![tcp.into()],
        ..Sockets::default()
    };
    let (gate, script) = start(sockets, Script::allowing().mapping("a.test", server));
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.connect(any_server).unwrap();
    client.send(&question()).unwrap();
    let mut buffer = [0; 600];
    let length = client.recv(&mut buffer).unwrap();
    let synthetic = answered(&buffer[..length]);
    assert_eq!(read_all((synthetic, address.port()).into()), "welcome");
    assert!(
        matches!(&script.acts()[..], [Act::Dns { .. }, Act::Connect { host, address: Some(ip), .. }]
        if host.to_string() == "a.test" && *ip == synthetic)
    );
    gate.stop();
}

#[tokio::test]
async fn names_are_looked_up_over_tcp_too() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let context = Arc::new(Context::new(
        Arc::new(Script::allowing()),
        Arc::new(Here),
        names(),
        deaf(),
        HashSet::new(),
        Settings::default(),
    ));
    let (mut client, stream) = tokio::io::duplex(4096);
    tokio::spawn(dns_serve::tcp(context.clone(), stream));
    for _ in 0..2 {
        let question = question();
        client.write_u16(question.len() as u16).await.unwrap();
        client.write_all(&question).await.unwrap();
        let mut reply = vec![0; usize::from(client.read_u16().await.unwrap())];
        client.read_exact(&mut reply).await.unwrap();
        assert_eq!(
            context.host_of(answered(&reply).into()).to_string(),
            "a.test"
        );
    }
    client.write_u16(5000).await.unwrap();
    assert!(client.read_u8().await.is_err());
}

#[test]
fn other_datagrams_are_recorded_and_dropped() {
    let udp = socket("0.0.0.0:0".parse().unwrap());
    let to: SocketAddr = ([127, 8, 8, 8], udp.local_addr().unwrap().port()).into();
    let sockets = Sockets {
        udp: vec![udp.into()],
        ..Sockets::default()
    };
    let (gate, script) = start(sockets, Script::allowing());
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.send_to(b"quic", to).unwrap();
    script.wait_until_told();
    assert!(
        matches!(&script.acts()[0], Act::Connect { host, transport: bailiwick_event::Transport::Udp, port, .. }
        if host.to_string() == "127.8.8.8" && *port == to.port())
    );
    gate.stop();
    client.set_nonblocking(true).unwrap();
    assert!(client.recv(&mut [0]).is_err());
}

#[test]
fn a_published_port_leads_inside_and_a_granted_one_outside() {
    let inside = greeter("inside");
    let (publish, published) = bound("127.0.0.1:0");
    // The sandbox's loopback is 127.0.0.2 here; what listens at the same port of 127.0.0.1 is
    // the host's server.
    let outside = greeter("outside");
    let (loopback, granted) = bound(&format!("127.0.0.2:{}", outside.port()));
    let sockets = Sockets {
        publish: vec![(publish.into(), inside.port())],
        loopback: vec![loopback.into()],
        ..Sockets::default()
    };
    let (gate, script) = start(sockets, Script::allowing());
    assert_eq!(read_all(published), "inside");
    assert_eq!(read_all(granted), "outside");
    let ways: Vec<_> = script
        .acts()
        .into_iter()
        .map(|act| match act {
            Act::Connect { via, port, .. } => (via, port),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        ways,
        [
            (Via::Publish, inside.port()),
            (Via::Loopback, outside.port())
        ]
    );
    gate.stop();
}

#[test]
fn a_refused_pipe_carries_nothing() {
    let inside = greeter("inside");
    let (publish, published) = bound("127.0.0.1:0");
    let outside = greeter("outside");
    let (loopback, granted) = bound(&format!("127.0.0.2:{}", outside.port()));
    let sockets = Sockets {
        publish: vec![(publish.into(), inside.port())],
        loopback: vec![loopback.into()],
        ..Sockets::default()
    };
    let (gate, _) = start(sockets, Script::denying(|_| true));
    for address in [published, granted] {
        let mut bytes = Vec::new();
        let end = TcpStream::connect(address).unwrap().read_to_end(&mut bytes);
        assert!(end.is_err() && bytes.is_empty(), "{bytes:?}");
    }
    gate.stop();
}

#[test]
fn a_gate_that_stopped_serves_nothing_more() {
    // Of no other test while this one has it.
    let port = reserve("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = rustix::net::getsockname(&port).unwrap();
    let (tcp, address) = bound(&SocketAddr::try_from(address).unwrap().to_string());
    let sockets = Sockets {
        proxy: vec![tcp.into()],
        ..Sockets::default()
    };
    let (gate, _) = start(sockets, Script::allowing());
    let mut open = TcpStream::connect(address).unwrap();
    gate.stop();
    assert!(matches!(open.read(&mut [0]), Ok(0) | Err(_)));
    // The time that a stop may take can pass before the gate's thread has run on a busy machine.
    while TcpStream::connect(address).is_ok() {
        thread::yield_now();
    }
}

/// Connects so often, and ends the gate at once; a decision takes longer than an attempt. What was told.
fn tried_at_the_very_end(number: usize, decision: Duration) -> Vec<Act> {
    let (tcp, address) = bound("127.0.0.1:0");
    // All of them can wait to be accepted.
    rustix::net::listen(&tcp, 4096).unwrap();
    let sockets = Sockets {
        tcp: vec![tcp.into()],
        ..Sockets::default()
    };
    let slow = move |act: &Act| {
        if matches!(act, Act::Connect { .. }) {
            thread::sleep(decision);
        }
        true
    };
    let (gate, script) = start(sockets, Script::denying(slow));
    for _ in 0..number {
        drop(TcpStream::connect(address).unwrap());
    }
    gate.stop();
    script.acts()
}

#[test]
fn what_was_tried_at_the_very_end_is_told() {
    // All of it takes longer than what connections still hold may; few, so that of the time for those that wait much is
    // left to a machine that is busy.
    let told = tried_at_the_very_end(10, DRAIN / 6);
    assert_eq!(told.len(), 10);
}

#[test]
fn what_there_was_no_time_for_at_the_end_is_counted() {
    let told = tried_at_the_very_end(400, BACKLOG / 200);
    let [decided @ .., Act::Overflow { lost }] = told.as_slice() else {
        panic!("{} were decided, and none counted", told.len())
    };
    assert_eq!(decided.len() as u64 + lost, 400);
}

#[test]
fn a_descriptor_that_is_no_socket_is_an_error_at_the_start() {
    let file = std::fs::File::open("/dev/null").unwrap();
    let sockets = Sockets {
        loopback: vec![file.into()],
        ..Sockets::default()
    };
    let script = Arc::new(Script::allowing());
    assert!(
        Gate::start_with(
            sockets,
            script,
            Arc::new(Here),
            names(),
            deaf(),
            Settings::default()
        )
        .is_err()
    );
}
