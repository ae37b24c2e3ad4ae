use super::*;
use proptest::prelude::*;

fn by_name(name: &[u8], port: u16) -> Vec<u8> {
    let mut bytes = vec![5, 1, 0, 3, name.len() as u8];
    bytes.extend(name);
    bytes.extend(port.to_be_bytes());
    bytes
}

#[test]
fn a_client_that_can_do_without_a_password_is_greeted() {
    assert_eq!(greeting(&[5, 2, 2, 0, 9]), Parsed::Whole(true, 4));
    assert_eq!(greeting(&[5, 1, 2]), Parsed::Whole(false, 3));
    assert_eq!(greeting(&[5, 0]), Parsed::Whole(false, 2));
    assert_eq!(greeting(&[5, 2, 0]), Parsed::Incomplete);
}

#[test]
fn only_connect_is_granted() {
    for command in [0, 2, 3, 255] {
        let request = request(&[5, command, 0, 1, 1, 1, 1, 1, 0, 80]);
        assert_eq!(
            request,
            Parsed::Bad(Reply::CommandNotSupported),
            "{command}"
        );
    }
}

#[test]
fn every_kind_of_address_is_one_canonical_host() {
    let whole = |host: &str, n| Parsed::Whole((Host::parse(host).unwrap(), 443), n);
    assert_eq!(
        request(&[5, 1, 0, 1, 10, 0, 0, 1, 1, 187]),
        whole("10.0.0.1", 10)
    );
    let mut mapped = vec![5, 1, 0, 4];
    mapped.extend(Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped().octets());
    mapped.extend([1, 187]);
    assert_eq!(request(&mapped), whole("10.0.0.1", 22));
    assert_eq!(request(&by_name(b"0x0a000001", 443)), whole("10.0.0.1", 17));
    assert_eq!(
        request(&by_name(b"Example.ORG.", 443)),
        whole("example.org", 19)
    );
}

#[test]
fn what_names_no_host_is_unreachable() {
    for name in [&b""[..], b"a\0b", b"user@host", b"\xff\xfe", b"a b"] {
        assert_eq!(
            request(&by_name(name, 1)),
            Parsed::Bad(Reply::HostUnreachable)
        );
    }
    assert_eq!(
        request(&[5, 1, 0, 9, 0]),
        Parsed::Bad(Reply::AddressNotSupported)
    );
}

proptest! {
    #[test]
    fn a_message_is_whole_at_its_last_byte_and_not_before(
        bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..40),
            ("[a-z.]{0,30}", any::<u16>()).prop_map(|(n, p)| by_name(n.as_bytes(), p)),
        ],
        after in proptest::collection::vec(any::<u8>(), 0..5),
    ) {
        for parse in [|b: &[u8]| match greeting(b) {
            Parsed::Whole(_, n) => Some(n), Parsed::Incomplete => Some(usize::MAX), Parsed::Bad(_) => None,
        }, |b: &[u8]| match request(b) {
            Parsed::Whole(_, n) => Some(n), Parsed::Incomplete => Some(usize::MAX), Parsed::Bad(_) => None,
        }] {
            if let Some(n) = parse(&bytes) && n != usize::MAX {
                prop_assert!(n <= bytes.len());
                for cut in 0..n {
                    prop_assert_eq!(parse(&bytes[..cut]), Some(usize::MAX));
                }
                let mut more = bytes.clone();
                more.extend(&after);
                prop_assert_eq!(parse(&more), Some(n));
            }
        }
    }
}
