//! The address of a `connect` (`4` or `6`, the family of the socket, and the bytes): read as the
//! kernel's rules say, whatever follows it, and one spelling for each machine.
#![no_main]

use bailiwick_event::Host;
use bailiwick_gate::fuzzing::address;
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const INVALID: i32 = 22;
const OTHER_FAMILY: i32 = 97;

fuzz_target!(|data: &[u8]| {
    let Some((kind, bytes)) = data.split_first() else {
        return;
    };
    let v6 = *kind == b'6';
    let read = address(v6, bytes);
    assert_eq!(read, by_the_book(v6, bytes));
    let Ok(found) = read else { return };
    // What follows an address changes nothing.
    let longer = [bytes, &[0xff; 8]].concat();
    assert_eq!(address(v6, &longer), read);
    // What is decided and recorded has one spelling, which is that of a machine.
    assert!(!found.ip().is_unspecified());
    let host = Host::from(found.ip());
    assert_eq!(host.ip(), Some(found.ip()), "{host}");
    assert_eq!(Host::parse(&host.to_string()), Ok(host));
});

/// ip(7) and ipv6(7), a byte at a time.
fn by_the_book(v6: bool, bytes: &[u8]) -> Result<SocketAddr, i32> {
    let at = |n: usize| u16::from(bytes[n]);
    let word = |n: usize| at(n) << 8 | at(n + 1);
    if bytes.len() < 2 {
        return Err(INVALID);
    }
    let (family, shortest) = if v6 { (10, 24) } else { (2, 16) };
    if bytes[0] != family || bytes[1] != 0 {
        return Err(OTHER_FAMILY);
    }
    if bytes.len() < shortest {
        return Err(INVALID);
    }
    let v4 = |n: usize| Ipv4Addr::new(bytes[n], bytes[n + 1], bytes[n + 2], bytes[n + 3]);
    let mapped = v6 && (8..18).all(|n| bytes[n] == 0) && word(18) == 0xffff;
    let ip: IpAddr = match (v6, mapped) {
        (false, _) => v4(4).into(),
        (true, true) => v4(20).into(),
        (true, false) => {
            let w = |n: usize| word(8 + 2 * n);
            Ipv6Addr::new(w(0), w(1), w(2), w(3), w(4), w(5), w(6), w(7)).into()
        }
    };
    let ip = match ip {
        IpAddr::V4(ip) if ip.octets() == [0; 4] => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.segments() == [0; 8] => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    Ok(SocketAddr::new(ip, word(2)))
}
