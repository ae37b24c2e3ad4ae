use super::*;
use proptest::prelude::*;
#[test]
fn a_report_arrives_with_its_descriptors() {
    let (a, b) = channel().unwrap();
    let (x, _y) = channel().unwrap();
    let report = Report::Ready {
        descriptors: vec![Carried::Pty],
    };
    send(&a, &report, &[x]).unwrap();
    let (got, fds) = receive::<Report>(&b).unwrap().unwrap();
    assert_eq!((got, fds.len()), (report, 1));
}

#[test]
fn the_end_of_the_other_side_is_seen() {
    let (a, b) = channel().unwrap();
    drop(a);
    assert!(receive::<Report>(&b).unwrap().is_none());
}

proptest! {
    #[test]
    fn a_packet_of_any_bytes_is_an_error_or_a_message(bytes in prop::collection::vec(any::<u8>(), 1..300)) {
        let (a, b) = channel().unwrap();
        rustix::net::send(&a, &bytes, rustix::net::SendFlags::NOSIGNAL).unwrap();
        if let Ok(Some((report, fds))) = receive::<Report>(&b) {
            prop_assert!(fds.is_empty());
            let canonical = postcard::to_allocvec(&report).unwrap();
            prop_assert_eq!(postcard::from_bytes::<Report>(&canonical).unwrap(), report);
        }
    }
}
