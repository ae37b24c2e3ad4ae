use super::*;

fn row(verdict: Verdict) -> BoundaryRow {
    BoundaryRow {
        name: "row".to_owned(),
        workload: String::new(),
        includes: String::new(),
        verifier: String::new(),
        verified: Verdict::Pass,
        verdict,
        busy: None,
        counted: BTreeMap::new(),
        series: vec![Series::new("here", "µs", vec![3.0, 1.0, 2.0])],
        limits: vec![limit("row: bound", "", "µs", 1.5, Some(once(2.0)))],
    }
    .decided()
}

#[test]
fn a_row_that_is_no_pass_has_no_figure() {
    let row = row(Verdict::Inconclusive("busy".to_owned()));
    assert!(row.series[0].summary.is_none());
    assert_eq!((row.limits[0].value, row.limits[0].met), (None, None));
    assert!(matches!(row.limits[0].outcome(), Verdict::Inconclusive(_)));
    assert_eq!(row.series[0].samples, [3.0, 1.0, 2.0]);
}

#[test]
fn a_limit_that_is_missed_is_a_failure_with_its_figure() {
    let row = row(Verdict::Pass);
    let summary = row.series[0].summary.unwrap();
    assert_eq!((summary.min, summary.max), (1.0, 3.0));
    assert_eq!((summary.median.value, summary.p99), (2.0, None));
    assert!(matches!(row.limits[0].outcome(), Verdict::Fail(_)));
    assert_eq!(
        limit_line(&row.limits[0]),
        "row: bound: 2.00 [2.00, 2.00] µs, limit 1.5 µs: EXCEEDED"
    );
}

#[test]
fn percentiles_are_of_the_sorted_samples() {
    let samples: Vec<f64> = (1..=101).rev().map(f64::from).collect();
    let summary = Summary::of(&samples).unwrap();
    assert_eq!((summary.p95, summary.p99), (96.0, Some(100.0)));
    assert!(Summary::of(&[]).is_none());
}
