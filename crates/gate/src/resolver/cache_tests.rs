use super::super::testing::question;
use super::*;
use hickory_proto::rr::RecordType;
use std::sync::Arc;

fn found(ttl: u32, bytes: usize) -> Found {
    Found {
        exists: true,
        data: Arc::default(),
        ttl,
        bytes,
    }
}

fn of(i: usize) -> Question {
    question(&format!("n{i}.test."), RecordType::TXT)
}

#[test]
fn an_answer_holds_as_long_as_it_says_and_counts_down() {
    let (mut cache, begin) = (Cache::default(), Instant::now());
    cache.put(of(1), found(10, 1), begin);
    let left = |cache: &Cache, ms| {
        let found = cache.get(&of(1), begin + Duration::from_millis(ms));
        found.map(|found| found.ttl)
    };
    assert_eq!(left(&cache, 0), Some(10));
    assert_eq!(left(&cache, 3000), Some(7));
    assert_eq!(left(&cache, 9900), Some(1));
    assert_eq!(left(&cache, 10_000), None);
    cache.put(of(2), found(0, 1), begin);
    assert_eq!(cache.get(&of(2), begin), None);
    // What was said last counts.
    cache.put(of(1), found(60, 1), begin + Duration::from_secs(10));
    assert_eq!(left(&cache, 20_000), Some(50));
}

#[test]
fn the_oldest_makes_room() {
    let (mut cache, begin) = (Cache::default(), Instant::now());
    for i in 0..MAX_ENTRIES + 10 {
        cache.put(of(i), found(60, 1), begin + Duration::from_nanos(i as u64));
    }
    assert_eq!(cache.entries.len(), MAX_ENTRIES);
    assert!(cache.get(&of(9), begin).is_none() && cache.get(&of(10), begin).is_some());
    for i in 0..200 {
        cache.put(of(i), found(60, 10_000), begin + Duration::from_secs(1));
        assert!(cache.bytes <= MAX_BYTES);
    }
    assert!(cache.get(&of(199), begin).is_some());
}

#[test]
fn one_that_is_given_again_and_again_takes_no_more_room() {
    let (mut cache, begin) = (Cache::default(), Instant::now());
    for i in 0..10 * MAX_ENTRIES {
        cache.put(
            of(i % 3),
            found(60, 1),
            begin + Duration::from_nanos(i as u64),
        );
    }
    assert!(cache.order.len() <= 2 * MAX_ENTRIES);
    assert_eq!((cache.entries.len(), cache.bytes), (3, 3 * (ENTRY + 1)));
}
