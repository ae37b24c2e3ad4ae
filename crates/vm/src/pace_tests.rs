#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use rustix::event::{PollFd, PollFlags, poll};

fn emptied(now: Instant) -> Pace {
    let mut pace = Pace::new(now).unwrap();
    while !pace.is_spent() {
        pace.spend(now, 0, 0).unwrap();
    }
    pace
}

#[test]
fn an_honest_guest_never_waits() {
    let began = Instant::now();
    let mut pace = Pace::new(began).unwrap();
    for event in 0..100_000 {
        // 1,500 executions in a second, for a minute.
        pace.spend(began + event * Duration::from_micros(667), 200, 0)
            .unwrap();
        assert!(!pace.is_spent(), "after {event}");
    }
}

#[test]
fn whoever_floods_waits_until_there_is_something_again() {
    let began = Instant::now();
    let mut pace = emptied(began);
    let soon = began + Duration::from_millis(10);
    pace.heard(soon).unwrap();
    assert!(!pace.is_spent());
    for _ in 0..50 {
        pace.spend(soon, 0, 0).unwrap();
    }
    assert!(pace.is_spent());
}

#[test]
fn long_messages_and_connections_cost_more() {
    let began = Instant::now();
    let count = |bytes, more| {
        let mut pace = Pace::new(began).unwrap();
        let mut count = 0;
        while !pace.is_spent() {
            pace.spend(began, bytes, more).unwrap();
            count += 1;
        }
        count
    };
    assert_eq!(count(0, 0), BURST);
    assert_eq!(count(100, CONNECTION), BURST / 4);
    assert_eq!(count(64 * 1024, 0), BURST / 513 + 1);
}

#[test]
fn the_timer_tells_when_it_is_over() {
    let pace = emptied(Instant::now());
    let long = Timespec::try_from(Duration::from_secs(120)).unwrap();
    let mut fds = [PollFd::from_borrowed_fd(pace.timer(), PollFlags::IN)];
    assert_eq!(poll(&mut fds, Some(&long)).unwrap(), 1);
}

#[test]
fn what_is_saved_up_has_an_end() {
    let began = Instant::now();
    let mut pace = emptied(began);
    pace.heard(began + Duration::from_secs(1 << 40)).unwrap();
    assert_eq!(pace.left, BURST);
}
