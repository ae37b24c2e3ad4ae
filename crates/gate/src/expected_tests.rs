use super::*;

fn way() -> Way {
    Way::Transparent(([192, 0, 2, 1], 80).into())
}

fn from(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

#[test]
fn a_connection_is_expected_once_and_from_one_address() {
    let expected = Expected::new();
    assert!(expected.expect(from(1), way(), expected.place().unwrap()));
    assert!(!expected.expect(from(1), Way::Proxy, expected.place().unwrap()));
    assert!(expected.take(from(2)).is_none());
    assert!(matches!(
        expected.take(from(1)),
        Some((Way::Transparent(_), _))
    ));
    assert!(expected.take(from(1)).is_none());
}

#[test]
fn no_more_can_wait_than_there_are_places() {
    let expected = Expected::new();
    let mut port = 0;
    while let Some(place) = expected.place() {
        port += 1;
        assert!(expected.expect(from(port), way(), place));
    }
    assert_eq!(usize::from(port), MAX_WAITING);
    drop(expected.take(from(7)));
    assert!(expected.place().is_some());
}
