use crate::settings::Settings;
use crate::sockets::{Call, Calls, Sockets, Source};
use crate::testing::{Here, Script, deaf, echo, exchange, names};
use crate::{Gate, PROXY_PORT};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, mpsc};

/// The calls of a test, and their answers.
#[derive(Debug)]
struct Test {
    calls: Mutex<mpsc::Receiver<Call>>,
    answers: mpsc::Sender<(u64, i32)>,
    readable: OwnedFd,
}

impl Source for Test {
    fn readable(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }

    fn next(&self) -> io::Result<Option<Call>> {
        Ok(self.calls.lock().unwrap().recv().ok())
    }

    fn answer(&self, number: u64, errno: i32) -> io::Result<()> {
        self.answers.send((number, errno)).map_err(io::Error::other)
    }
}

/// A gate whose only client is the test.
struct Rig {
    script: Arc<Script>,
    calls: mpsc::Sender<Call>,
    answers: mpsc::Receiver<(u64, i32)>,
    _gate: Gate,
}

impl Rig {
    fn new(script: Script, loopback: &[u16]) -> Self {
        let (calls, incoming) = mpsc::channel();
        let (outgoing, answers) = mpsc::channel();
        let script = Arc::new(script);
        let source = Test {
            calls: Mutex::new(incoming),
            answers: outgoing,
            readable: rustix::pipe::pipe().unwrap().0,
        };
        let sockets = Sockets {
            calls: Some(Calls {
                source: Box::new(source),
                loopback: loopback.to_vec(),
            }),
            ..Sockets::default()
        };
        let gate = Gate::start_with(
            sockets,
            script.clone(),
            Arc::new(Here),
            names(),
            deaf(),
            Settings::default(),
        )
        .unwrap();
        Self {
            script,
            calls,
            answers,
            _gate: gate,
        }
    }

    /// The answer to a call of this socket.
    fn connect(&self, socket: &OwnedFd, address: Vec<u8>) -> i32 {
        let call = Call {
            number: 7,
            socket: socket.try_clone().unwrap(),
            address,
        };
        self.calls.send(call).unwrap();
        let (number, errno) = self.answers.recv().unwrap();
        assert_eq!(number, 7);
        errno
    }
}

fn socket(family: AddressFamily, kind: SocketType) -> OwnedFd {
    socket_with(family, kind, SocketFlags::CLOEXEC, None).unwrap()
}

fn stream() -> OwnedFd {
    socket(AddressFamily::INET, SocketType::STREAM)
}

/// As the kernel has it.
fn bytes(address: SocketAddr) -> Vec<u8> {
    let family = if address.is_ipv4() { 2_u16 } else { 10 };
    let mut bytes = family.to_ne_bytes().to_vec();
    bytes.extend(address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => bytes.extend(ip.octets()),
        IpAddr::V6(ip) => {
            bytes.extend([0; 4]);
            bytes.extend(ip.octets());
        }
    }
    bytes.resize(28, 0);
    bytes
}

async fn talk(socket: OwnedFd, text: &str) -> String {
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(true).unwrap();
    let mut stream = tokio::net::TcpStream::from_std(stream).unwrap();
    exchange(&mut stream, text.as_bytes()).await
}

fn http(host: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
}

#[tokio::test]
async fn a_connection_is_decided_by_the_address_that_it_was_made_to() {
    let script = Script::denying(|act| act.resource().contains("192.0.2.7"));
    let rig = Rig::new(script, &[]);
    let socket = stream();
    assert_eq!(
        rig.connect(&socket, bytes("192.0.2.7:80".parse().unwrap())),
        0
    );
    let answer = talk(socket, &http("192.0.2.7")).await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(
        rig.script.told()[0].contains("192.0.2.7:80"),
        "{:?}",
        rig.script.told()
    );
}

#[tokio::test]
async fn a_granted_loopback_port_is_reached_and_another_is_not_there() {
    let server = echo().await;
    let granted = server.port();
    let script = Script::denying(move |act| !act.resource().contains(&granted.to_string()));
    let rig = Rig::new(script, &[granted]);
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let wanted = match family {
            AddressFamily::INET => server,
            _ => SocketAddr::new(
                std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(),
                granted,
            ),
        };
        let one = socket(family, SocketType::STREAM);
        assert_eq!(rig.connect(&one, bytes(wanted)), 0);
        rustix::net::send(&one, b"hello", rustix::net::SendFlags::empty()).unwrap();
        rustix::net::shutdown(&one, rustix::net::Shutdown::Write).unwrap();
        let read = tokio::task::spawn_blocking(move || {
            let mut text = String::new();
            TcpStream::from(one).read_to_string(&mut text).unwrap();
            text
        });
        assert_eq!(read.await.unwrap(), "hello");
    }
    for other in ["127.0.0.1:9".to_owned(), format!("127.0.0.2:{granted}")] {
        let other = bytes(other.parse().unwrap());
        assert_eq!(rig.connect(&stream(), other), libc::ECONNREFUSED);
    }
}

#[tokio::test]
async fn the_proxy_is_where_it_is_in_every_sandbox() {
    let rig = Rig::new(Script::denying(|_| true), &[]);
    let socket = stream();
    let proxy = SocketAddr::from(([127, 0, 0, 1], PROXY_PORT));
    assert_eq!(rig.connect(&socket, bytes(proxy)), 0);
    let request = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
    assert!(talk(socket, request).await.starts_with("HTTP/1.1 403"));
}

#[tokio::test]
async fn nothing_but_a_fresh_tcp_socket_is_connected() {
    let rig = Rig::new(Script::allowing(), &[]);
    let to = bytes("192.0.2.7:80".parse().unwrap());
    let datagrams = socket(AddressFamily::INET, SocketType::DGRAM);
    let unix = socket(AddressFamily::UNIX, SocketType::STREAM);
    let (pipe, _) = rustix::pipe::pipe().unwrap();
    assert_eq!(rig.connect(&datagrams, to.clone()), libc::EACCES);
    assert_eq!(rig.connect(&unix, to.clone()), libc::EACCES);
    assert_eq!(rig.connect(&pipe, to.clone()), libc::ENOTSOCK);
    let used = stream();
    assert_eq!(rig.connect(&used, to.clone()), 0);
    assert_eq!(rig.connect(&used, to.clone()), libc::EISCONN);
    // An address without a family would take the connection away.
    assert_eq!(rig.connect(&used, vec![0; 16]), libc::EAFNOSUPPORT);
    let elsewhere = stream();
    rustix::net::bind(&elsewhere, &"0.0.0.0:0".parse::<SocketAddr>().unwrap()).unwrap();
    assert_eq!(rig.connect(&elsewhere, to), libc::EADDRNOTAVAIL);
}

#[tokio::test]
async fn whoever_is_not_expected_is_turned_away() {
    let rig = Rig::new(Script::allowing(), &[]);
    let socket = stream();
    assert_eq!(
        rig.connect(&socket, bytes("192.0.2.7:80".parse().unwrap())),
        0
    );
    let door = rustix::net::getpeername(&socket).unwrap().unwrap();
    let door = SocketAddr::try_from(door).unwrap();
    let mut stranger = TcpStream::connect(door).unwrap();
    let read = tokio::task::spawn_blocking(move || stranger.read(&mut [0; 1]));
    assert!(matches!(read.await.unwrap(), Ok(0) | Err(_)));
    // Who was expected may be served after the stranger was sent away.
    rig.script.wait_until_told();
    assert_eq!(rig.script.told().len(), 1, "{:?}", rig.script.told());
}

#[tokio::test]
async fn a_socket_that_does_not_wait_is_told_so_and_connects() {
    let rig = Rig::new(Script::denying(|_| true), &[]);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
    let errno = rig.connect(&socket, bytes("192.0.2.7:80".parse().unwrap()));
    assert!(
        [0, Errno::INPROGRESS.raw_os_error()].contains(&errno),
        "{errno}"
    );
    let answer = talk(socket, &http("192.0.2.7")).await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}
