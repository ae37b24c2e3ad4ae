use super::*;
use proptest::prelude::*;

fn samples() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(1u32..1_000_000, 1..60)
        .prop_map(|v| v.into_iter().map(f64::from).collect())
}

#[test]
fn nothing_has_no_median_and_no_ratio() {
    assert_eq!(median(&[]), None);
    assert_eq!(ratio(&[], &[1.0]), None);
    assert_eq!(ratio(&[1.0], &[0.0]), None);
}

#[test]
fn the_median_ignores_one_wild_sample() {
    let found = median(&[3.0, 1.0, 2.0, 1e9, 2.5]).unwrap();
    assert_eq!(found.value, 2.5);
    assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]).unwrap().value, 2.5);
}

#[test]
fn the_interval_of_a_median_narrows_with_more_samples() {
    let few: Vec<f64> = (0..10).map(f64::from).collect();
    let many: Vec<f64> = (0..1000).map(|i| f64::from(i) / 100.0).collect();
    let width = |e: Estimate| e.high - e.low;
    assert!(width(median(&many).unwrap()) < width(median(&few).unwrap()) / 4.0);
}

#[test]
fn mann_whitney_agrees_with_the_published_example() {
    // Two groups of ten without overlap: U = 0, z = 49.5 / sqrt(175), p = 0.000183.
    let a: Vec<f64> = (1..=10).map(f64::from).collect();
    let b: Vec<f64> = (11..=20).map(f64::from).collect();
    assert!((mann_whitney(&a, &b) - 0.000_183).abs() < 0.000_001);
}

#[test]
fn mann_whitney_corrects_for_ties() {
    // U = 6 of 16; groups of 3 and 5 equal values take 24 + 120 off: the variance is
    // 16/12 · (9 − 144/56) = 8.571, z = 1.5/2.928 = 0.5123, p = 0.6084.
    let p = mann_whitney(&[1.0, 1.0, 2.0, 2.0], &[1.0, 2.0, 2.0, 2.0]);
    assert!((p - 0.6084).abs() < 0.0005, "{p}");
}

#[test]
fn the_normal_tail_has_its_textbook_values() {
    assert!((upper_tail(0.0) - 0.5).abs() < 1e-7);
    assert!((upper_tail(1.959_964) - 0.025).abs() < 1e-6);
}

proptest! {
    #[test]
    fn an_interval_contains_its_value(a in samples(), b in samples()) {
        for e in [median(&a).unwrap(), ratio(&a, &b).unwrap()] {
            prop_assert!(e.low <= e.value && e.value <= e.high, "{e:?}");
        }
    }

    #[test]
    fn a_set_is_never_faster_than_itself(a in samples()) {
        prop_assert!(mann_whitney(&a, &a) > 0.9);
        let e = ratio(&a, &a).unwrap();
        prop_assert!(e.low <= 1.0 && e.high >= 1.0);
    }

    #[test]
    fn the_test_does_not_care_which_set_comes_first(a in samples(), b in samples()) {
        prop_assert!((mann_whitney(&a, &b) - mann_whitney(&b, &a)).abs() < 1e-9);
    }
}
