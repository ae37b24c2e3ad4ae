use super::*;
use proptest::prelude::*;

fn ip(text: &str) -> Host {
    Host::Ip(text.parse().unwrap())
}
fn name(text: &str) -> Host {
    Host::Name(text.to_owned())
}

#[test]
fn every_spelling_of_an_address_is_the_same_address() {
    for spelling in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "[::ffff:127.0.0.1]",
        "::ffff:7f00:1",
        "127.0.0.1.",
    ] {
        assert_eq!(Host::parse(spelling), Ok(ip("127.0.0.1")), "{spelling}");
    }
}

#[test]
fn every_spelling_of_a_name_is_the_same_name() {
    for spelling in ["Example.ORG", "example.org.", "ＥＸＡＭＰＬＥ.org"] {
        assert_eq!(Host::parse(spelling), Ok(name("example.org")), "{spelling}");
    }
    assert_eq!(
        Host::parse("bücher.example"),
        Ok(name("xn--bcher-kva.example"))
    );
    assert_eq!(
        Host::parse("XN--bcher-KVA.example"),
        Ok(name("xn--bcher-kva.example"))
    );
}

#[test]
fn what_names_no_machine_is_refused() {
    for (bad, why) in [
        ("", HostError::Empty),
        (".", HostError::Empty),
        ("a..b", HostError::Label),
        ("-a.b", HostError::Label),
        ("user@host", HostError::Character('@')),
        ("a\0b", HostError::Character('\0')),
        ("a b", HostError::Character(' ')),
        ("256.1.1.1", HostError::Number),
        ("1.2.3.4.5", HostError::Number),
        ("09.1.1.1", HostError::Number),
        ("[::1", HostError::Brackets),
        ("fe80::1%eth0", HostError::Character(':')),
    ] {
        assert_eq!(Host::parse(bad), Err(why), "{bad}");
    }
    assert_eq!(Host::parse(&"a".repeat(64)), Err(HostError::TooLong));
}

#[test]
fn addresses_that_a_public_name_must_not_have() {
    use AddressClass::*;
    for (address, class) in [
        ("127.8.8.8", Loopback),
        ("0.0.0.0", Loopback),
        ("::1", Loopback),
        ("::", Loopback),
        ("169.254.169.254", LinkLocal),
        ("fe80::1", LinkLocal),
        ("10.0.0.1", Private),
        ("172.31.0.1", Private),
        ("192.168.1.1", Private),
        ("100.100.100.200", Private),
        ("fd00:ec2::254", Private),
        ("198.18.0.1", Private),
        ("::ffff:10.0.0.1", Private),
        ("64:ff9b::a00:1", Private),
        ("2002:a00:1::", Private),
        ("::7f00:1", Loopback),
        ("224.0.0.1", Reserved),
        ("255.255.255.255", Reserved),
        ("ff02::1", Reserved),
        ("1.1.1.1", Public),
        ("2606:4700::1111", Public),
        ("172.32.0.1", Public),
        ("100.128.0.1", Public),
    ] {
        assert_eq!(
            AddressClass::of(address.parse().unwrap()),
            class,
            "{address}"
        );
    }
}

proptest! {
    #[test]
    fn the_canonical_spelling_is_a_fixed_point(text in "\\PC{0,40}") {
        if let Ok(host) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
        }
    }

    #[test]
    fn an_ipv4_address_is_read_as_the_standard_library_reads_it(a: [u8; 4]) {
        let std = IpAddr::from(a);
        prop_assert_eq!(Host::parse(&std.to_string()), Ok(Host::Ip(std)));
        prop_assert_eq!(Host::parse(&u32::from_be_bytes(a).to_string()), Ok(Host::Ip(std)));
    }
}

#[test]
fn machines_that_a_stranger_must_not_name_are_inward() {
    for host in [
        "127.0.0.1",
        "127.9.9.9",
        "[::1]",
        "localhost",
        "a.localhost.",
        "0.0.0.0",
        "[::]",
        "169.254.169.254",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[fd00:ec2::254]",
        "Metadata.Google.Internal.",
        "10.0.0.1",
        "172.31.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "[fe80::1]",
        "[fc00::1]",
        "224.0.0.1",
        "[ff02::1]",
    ] {
        assert!(Host::parse(host).unwrap().is_inward(), "{host}");
    }
    for host in [
        "example.org",
        "localhost.example.org",
        "8.8.8.8",
        "[2606:4700::1111]",
    ] {
        assert!(!Host::parse(host).unwrap().is_inward(), "{host}");
    }
}
