//! SOCKS5 messages (`R` or `G` and the bytes of one): read as a slow reading of RFC 1928 reads
//! them, whole at the last byte and not before.
#![no_main]

use bailiwick_event::Host;
use bailiwick_gate::fuzzing::{Socks, socks_greeting, socks_request};
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fuzz_target!(|data: &[u8]| {
    let Some((kind, bytes)) = data.split_first() else {
        return;
    };
    match kind {
        b'G' => {
            let read = socks_greeting(bytes);
            assert_eq!(read, greeting(bytes));
            is_whole_at_its_end(bytes, &read, socks_greeting);
        }
        _ => {
            let read = socks_request(bytes);
            assert_eq!(read, request(bytes));
            is_whole_at_its_end(bytes, &read, socks_request);
            if let Socks::Whole((host, _), _) = read {
                // What is decided and recorded has one spelling.
                assert_eq!(Host::parse(&host.to_string()), Ok(host));
            }
        }
    }
});

/// Neither a cut message is one, nor does what follows change it.
fn is_whole_at_its_end<T: PartialEq + std::fmt::Debug>(
    bytes: &[u8],
    read: &Socks<T>,
    again: impl Fn(&[u8]) -> Socks<T>,
) {
    if let Socks::Whole(_, length) = read {
        assert!(*length <= bytes.len());
        for cut in 0..*length {
            assert_eq!(again(&bytes[..cut]), Socks::Incomplete, "cut at {cut}");
        }
        assert_eq!(&again(&bytes[..*length]), read);
    }
}

fn bad<T>(reply: u8) -> Socks<T> {
    Socks::Bad([5, reply, 0, 1, 0, 0, 0, 0, 0, 0])
}

fn greeting(bytes: &[u8]) -> Socks<bool> {
    let Some(version) = bytes.first() else {
        return Socks::Incomplete;
    };
    if *version != 5 {
        return bad(1);
    }
    let Some(count) = bytes.get(1) else {
        return Socks::Incomplete;
    };
    let length = 2 + usize::from(*count);
    if bytes.len() < length {
        return Socks::Incomplete;
    }
    Socks::Whole(bytes[2..length].contains(&0), length)
}

fn request(bytes: &[u8]) -> Socks<(Host, u16)> {
    let at = |n: usize| bytes.get(n).copied();
    match at(0) {
        None => return Socks::Incomplete,
        Some(5) => {}
        Some(_) => return bad(1),
    }
    match at(1) {
        None => return Socks::Incomplete,
        Some(1) => {}
        Some(_) => return bad(7),
    }
    let (from, length) = match (at(3), at(4)) {
        (None, _) => return Socks::Incomplete,
        (Some(1), _) => (4, 4),
        (Some(4), _) => (4, 16),
        (Some(3), None) => return Socks::Incomplete,
        (Some(3), Some(n)) => (5, usize::from(n)),
        (Some(_), _) => return bad(8),
    };
    let end = from + length + 2;
    if bytes.len() < end {
        return Socks::Incomplete;
    }
    let address = &bytes[from..from + length];
    let port = u16::from_be_bytes([bytes[end - 2], bytes[end - 1]]);
    let host = match bytes[3] {
        1 => {
            let [a, b, c, d] = address else { return bad(1) };
            Ok(Host::from(IpAddr::V4(Ipv4Addr::new(*a, *b, *c, *d))))
        }
        4 => {
            let number = address.iter().fold(0u128, |n, b| n << 8 | u128::from(*b));
            Ok(Host::from(IpAddr::V6(Ipv6Addr::from_bits(number))))
        }
        _ => match String::from_utf8(address.to_vec()) {
            Ok(text) => Host::parse(&text),
            Err(_) => return bad(4),
        },
    };
    host.map_or(bad(4), |host| Socks::Whole((host, port), end))
}
