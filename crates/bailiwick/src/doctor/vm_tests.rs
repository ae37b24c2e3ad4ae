use super::*;
use std::net::TcpStream;

#[test]
fn what_arrives_at_a_listener_is_counted_and_fails_the_check() {
    let arrived = Arc::new(AtomicUsize::new(0));
    let address = Ipv4Addr::LOCALHOST.into();
    let (tcp, udp) = (
        listen(address, &arrived).unwrap(),
        receive(address, &arrived).unwrap(),
    );
    assert!(untouched(&arrived, true).passed);
    let mut said = String::new();
    let mut stream = TcpStream::connect(tcp).unwrap();
    std::io::Read::read_to_string(&mut stream, &mut said).unwrap();
    assert_eq!(said, "this is the host\n");
    assert!(!untouched(&arrived, true).passed);
    arrived.store(0, Ordering::SeqCst);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"x", udp).unwrap();
    socket.recv(&mut [0; 64]).unwrap();
    assert!(!untouched(&arrived, true).passed);
}

#[test]
fn that_nothing_arrived_says_nothing_where_nothing_was_tried() {
    let none = Arc::new(AtomicUsize::new(0));
    assert!(!untouched(&none, false).passed);
}

#[test]
fn what_a_check_of_the_hosts_needs_is_run_for_it() {
    let first = |only: &str| {
        let only = [only.to_owned()];
        Wanted(&only)
            .first()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        first("network.untouched"),
        ["network.direct-address", "network.udp"]
    );
    assert_eq!(first("bulk.host"), ["bulk.workspace"]);
    assert_eq!(first("again.identity"), ["identity.set"]);
    assert_eq!(first("boot.total"), Vec::<String>::new());
    assert_eq!(first("kernel."), ["kernel."]);
    assert!(Wanted(&[]).first().is_empty() && Wanted(&[]).has("anything"));
}

#[test]
fn the_granted_server_has_a_page_a_repository_and_a_package() {
    for path in [
        "/page",
        "/repository.git/info/refs?service=git-upload-pack",
        "/simple/bailiwick-doctor/",
    ] {
        assert!(content("p", path).is_some(), "{path}");
    }
    let (file, _) = wheel("p");
    assert!(content("p", &format!("/{file}")).is_some());
    assert!(content("p", "/other").is_none());
}
