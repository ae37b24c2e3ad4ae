use super::*;
use proptest::prelude::*;

#[test]
fn a_name_keeps_its_addresses_and_the_addresses_mean_it() {
    let names = Names::new();
    let (v4, v6) = names.bind("example.org").unwrap();
    let other = names.bind("example.net").unwrap();
    assert_eq!(names.bind("example.org"), Some((v4, v6)));
    assert_ne!((v4, v6), other);
    assert_eq!(names.of(v4.into()), Bound::Name("example.org".into()));
    assert_eq!(names.of(v6.into()), Bound::Name("example.org".into()));
    let mapped = v4.to_ipv6_mapped();
    assert_eq!(names.of(mapped.into()), Bound::Name("example.org".into()));
}

#[test]
fn the_name_server_and_what_was_never_answered_are_bound_to_nothing() {
    let names = Names::new();
    names.bind("example.org");
    for address in [
        IpAddr::V4(NAMESERVER_V4),
        IpAddr::V6(NAMESERVER_V6),
        "198.18.1.1".parse().unwrap(),
        "198.19.255.255".parse().unwrap(),
        "fd62:6169:6c69::ffff:ffff:ffff:ffff".parse().unwrap(),
    ] {
        assert_eq!(names.of(address), Bound::Nothing, "{address}");
    }
    for address in [
        "198.17.255.255",
        "198.20.0.0",
        "fd62:6169:6c69:1::100",
        "::1",
    ] {
        assert_eq!(
            names.of(address.parse().unwrap()),
            Bound::Outside,
            "{address}"
        );
    }
}

#[test]
fn a_full_table_binds_nothing_more_and_forgets_nothing() {
    let names = Names::with(V4_BASE, 2);
    let first = names.bind("a.test").unwrap();
    names.bind("b.test").unwrap();
    assert_eq!(names.bind("c.test"), None);
    assert_eq!(names.bind("a.test"), Some(first));
}

#[test]
fn the_last_name_still_lies_in_the_range() {
    let last = V4_BASE.to_bits() + FIRST + CAPACITY as u32;
    assert!(Ipv4Addr::from_bits(last) < Ipv4Addr::new(198, 20, 0, 0));
}

proptest! {
    #[test]
    fn no_two_names_share_an_address(list in proptest::collection::vec("[a-c]{1,3}\\.test", 1..40)) {
        let names = Names::new();
        for name in &list {
            names.bind(name);
        }
        for name in &list {
            let (v4, v6) = names.bind(name).unwrap();
            prop_assert_eq!(names.of(v4.into()), Bound::Name(name.as_str().into()));
            prop_assert_eq!(names.of(v6.into()), Bound::Name(name.as_str().into()));
        }
    }
}
