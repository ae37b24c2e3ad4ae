use super::*;
use crate::testing::hello::{hello, records};
use proptest::prelude::*;

/// Extensions of other kinds than server_name, each kind once.
fn others() -> impl Strategy<Value = Vec<(u16, Vec<u8>)>> {
    proptest::collection::btree_map(1u16.., proptest::collection::vec(any::<u8>(), 0..60), 0..12)
        .prop_map(|map| map.into_iter().collect())
}

fn name_extension(name: &[u8]) -> (u16, Vec<u8>) {
    let n = name.len() as u16;
    let mut data = (n + 3).to_be_bytes().to_vec();
    data.push(0);
    data.extend(n.to_be_bytes());
    data.extend(name);
    (0, data)
}

proptest! {
    #[test]
    fn the_name_is_found_among_any_extensions_in_any_fragments(
        name in proptest::option::of("[a-z0-9.-]{1,80}"),
        others in others(),
        place: prop::sample::Index,
        sizes in proptest::collection::vec(1usize..300, 1..8),
        session in proptest::collection::vec(any::<u8>(), 0..=32),
        after in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut extensions = others;
        if let Some(name) = &name {
            let at = place.index(extensions.len() + 1);
            extensions.insert(at, name_extension(name.as_bytes()));
        }
        let mut bytes = records(&hello(&session, Some(&extensions)), &sizes);
        let whole = bytes.len();
        bytes.extend(after);
        let expected = Hello::Complete(name.map(String::into_bytes));
        prop_assert_eq!(parse(&bytes), expected);
        for cut in 0..whole {
            prop_assert_eq!(parse(&bytes[..cut]), Hello::Incomplete, "cut at {}", cut);
        }
    }

    #[test]
    fn a_second_name_is_refused_wherever_it_stands(
        others in others(), a: prop::sample::Index, b: prop::sample::Index,
    ) {
        let mut extensions = others;
        extensions.insert(a.index(extensions.len() + 1), name_extension(b"good.test"));
        extensions.insert(b.index(extensions.len() + 1), name_extension(b"evil.test"));
        let bytes = records(&hello(&[], Some(&extensions)), &[16_000]);
        prop_assert_eq!(parse(&bytes), Hello::Malformed);
    }

    #[test]
    fn a_wrong_length_is_never_read_as_another_name(at in 0usize..90, value: u8) {
        let extensions = [(10, vec![0, 2, 0, 29]), name_extension(b"good.test")];
        let mut bytes = records(&hello(&[7; 4], Some(&extensions)), &[16_000]);
        let at = at % bytes.len();
        bytes[at] = value;
        if let Hello::Complete(Some(name)) = parse(&bytes) {
            let differ = name.iter().zip(b"good.test").filter(|(x, y)| x != y).count();
            prop_assert!(name.len() == 9 && differ <= 1, "{:?}", String::from_utf8_lossy(&name));
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        parse(&bytes);
        let mut message = vec![1, 0, (bytes.len() >> 8) as u8, bytes.len() as u8];
        message.extend(&bytes);
        let parsed = parse(&records(&message, &[100]));
        prop_assert_ne!(parsed, Hello::Incomplete);
    }
}

#[test]
fn a_hello_without_extensions_names_nothing() {
    let bytes = records(&hello(&[], None), &[500]);
    assert_eq!(parse(&bytes), Hello::Complete(None));
}

#[test]
fn two_names_in_one_list_are_refused() {
    let mut data = vec![0, 8];
    data.extend([0, 0, 1, b'a', 0, 0, 1, b'b']);
    let bytes = records(&hello(&[], Some(&[(0, data)])), &[500]);
    assert_eq!(parse(&bytes), Hello::Malformed);
}

#[test]
fn an_empty_name_and_an_empty_list_are_refused() {
    for data in [
        vec![],
        vec![0, 0],
        vec![0, 3, 0, 0, 0],
        vec![0, 4, 1, 0, 1, b'a'],
    ] {
        let bytes = records(&hello(&[], Some(&[(0, data.clone())])), &[500]);
        assert_eq!(parse(&bytes), Hello::Malformed, "{data:?}");
    }
}

#[test]
fn a_hello_that_would_fill_memory_is_refused_at_its_length() {
    assert_eq!(parse(&[22, 3, 1, 0, 4, 1, 0, 0x40, 1]), Hello::Malformed);
    assert_eq!(parse(&[22, 3, 1, 0, 4, 1, 0, 0x40, 0]), Hello::Incomplete);
    assert_eq!(parse(&[22, 3, 1, 0, 0]), Hello::Malformed);
    assert_eq!(parse(&[22, 3, 1, 0, 1, 2]), Hello::Malformed);
}

#[test]
fn a_record_of_another_kind_between_two_fragments_is_refused() {
    let message = hello(&[], None);
    let mut bytes = records(&message[..20], &[20]);
    bytes.extend([20, 3, 3, 0, 1, 1]);
    bytes.extend(records(&message[20..], &[500]));
    assert_eq!(parse(&bytes), Hello::Malformed);
}
