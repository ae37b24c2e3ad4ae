#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

#[test]
fn the_middle_is_found_in_any_order() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median(&[]), None);
}

#[test]
fn an_interval_holds_the_median_and_is_wider_where_figures_differ_more() {
    let near: Vec<f64> = (0..15).map(|n| 100.0 + f64::from(n % 3)).collect();
    let far: Vec<f64> = (0..15).map(|n| 100.0 + 10.0 * f64::from(n % 3)).collect();
    let of = |one: &[f64]| interval(&[one], |drawn| median(&drawn[0])).unwrap();
    let (near, far) = (of(&near), of(&far));
    assert!(near.0 <= 101.0 && 101.0 <= near.1, "{near:?}");
    assert!(far.1 - far.0 > near.1 - near.0, "{far:?} {near:?}");
    assert_eq!(interval(&[&[]], |drawn| median(&drawn[0])), None);
    assert_eq!(of(&[7.0; 5]), (7.0, 7.0));
}
