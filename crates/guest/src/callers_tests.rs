use super::{Callers, address, sockets};
use bailiwick_channel::schema::ToHost;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::time::{Duration, Instant};

const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:8D5C 0700C6C6:01BB 01 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 20 4 30 10 -1
   1: 0700C6C6:01BB 0100007F:8D5C 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 20 4 30 10 -1
";

#[cfg(target_endian = "little")]
#[test]
fn the_programs_side_of_a_connection_is_found_in_the_table() {
    let from: SocketAddrV4 = "127.0.0.1:36188".parse().unwrap();
    let to: SocketAddrV4 = "198.198.0.7:443".parse().unwrap();
    assert_eq!(address("0100007F:8D5C"), Some(from));
    assert_eq!(sockets(TABLE, &[(from, to)]), [(4711, to)]);
    assert_eq!(sockets(TABLE, &[(to, to)]), []);
    assert_eq!(sockets("a\nb c d e\n", &[(from, to)]), []);
}

fn v4(address: SocketAddr) -> SocketAddrV4 {
    match address {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(_) => unreachable!(),
    }
}

#[test]
fn the_program_of_a_connection_is_this_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (from, to) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
    let mut callers = Callers::default();
    callers.look_for((v4(from), v4(to)));
    assert_eq!(callers.found(), [], "it is passed on first");
    let found = callers.found();
    let [ToHost::Called { by, to: told }] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!((by.pid, *told), (std::process::id(), v4(to)));
    let name = std::fs::read("/proc/self/comm").unwrap();
    assert_eq!(by.name, name.trim_ascii_end());
    // It rests, and what comes meanwhile waits.
    callers.look_for((v4(from), v4(to)));
    for _ in 0..3 {
        callers.rests = Some(Instant::now() + Duration::from_secs(60));
        assert_eq!(callers.found(), []);
    }
    assert_eq!(callers.waiting.len(), 1);
}
