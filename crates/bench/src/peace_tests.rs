use super::*;
use std::time::{Duration, Instant};

#[test]
fn idle_and_waiting_for_a_disk_are_peace_and_all_else_is_not() {
    let line = "cpu  100 20 30 700 40 5 6 9 11 12\ncpu0 1 2 3\n";
    let (busy, all) = (170, 910);
    assert_eq!(Ticks::parse(line), Some(Ticks { busy, all }));
    for broken in [
        "",
        "cpu 1 2 3\n",
        "cpu a b c d e f g h\n",
        "intr 1 2 3 4 5\n",
    ] {
        assert_eq!(Ticks::parse(broken), None, "{broken:?}");
    }
}

#[test]
fn whoever_uses_a_cpu_is_seen() {
    let mut peace = Peace::default();
    assert_eq!(peace.busy(), None);
    peace.keep(|| {
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(300) {
            std::hint::black_box(0);
        }
    });
    // One of at most a hundred CPUs.
    assert!(peace.busy().unwrap() > 0.005, "{peace:?}");
}
