use super::*;

#[test]
fn what_is_counted_is_what_the_kernel_says_where_that_does_not_change() {
    let flags = of_processor("flags").unwrap();
    if flags.contains("aperfmperf") {
        return;
    }
    let told = said(&of_processor("cpu MHz").unwrap()).unwrap() as f64;
    let counted = count().unwrap() as f64;
    // The kernel's own measure of it is no better than this where nobody told it.
    assert!((counted / told - 1.0).abs() < 1e-3, "{counted} {told}");
}

#[test]
fn what_the_kernel_says_is_read() {
    assert_eq!(said("cpu MHz\t\t: 2445.426"), Some(2_445_426));
    assert_eq!(said("cpu MHz\t\t: fast"), None);
}

#[test]
fn it_is_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("below/counter");
    let counted = remembered(&place).unwrap();
    assert!(counted > 100_000, "{counted}");
    assert_eq!(remembered(&place), Some(counted));
    fs::write(&place, "1234567\n").unwrap();
    assert_eq!(remembered(&place), Some(1_234_567));
    fs::write(&place, "nothing\n").unwrap();
    assert!(remembered(&place).is_some_and(|again| again != 1_234_567));
}
