use super::*;

#[test]
fn a_destination_counts_once_and_a_flood_is_counted_not_kept() {
    let mut attempts = Attempts::default();
    let to = |port| SocketAddr::from(([1, 1, 1, 1], port));
    assert!(attempts.is_new(to(443)));
    assert!(!attempts.is_new(to(443)));
    assert!(attempts.is_new(to(444)));
    let recorded = (1000..2000)
        .filter(|port| attempts.is_new(to(*port)))
        .count();
    assert_eq!(recorded, MAX_ATTEMPTS - 2);
    assert_eq!(attempts.lost, 1000 - recorded as u64);
    assert!(!attempts.is_new(to(443)));
    assert_eq!(attempts.seen.len(), MAX_ATTEMPTS);
}
