use super::*;
use crate::evidence::CellRecord;

fn cell(system: &str, ns: &[u64]) -> CellRecord {
    CellRecord {
        system: system.to_owned(),
        argv: Vec::new(),
        verdict: Verdict::Pass,
        in_force: None,
        contention: None,
        unit: "ns".to_owned(),
        samples: ns.to_vec(),
        user_us: Vec::new(),
        system_us: Vec::new(),
        median: None,
        factor: None,
        p_against_cold: None,
    }
}

fn row(name: &str, acts: Option<usize>, cells: Vec<CellRecord>) -> RowRecord {
    RowRecord {
        name: name.to_owned(),
        workload: String::new(),
        includes: String::new(),
        acts,
        verifier: String::new(),
        control: String::new(),
        verdict: Verdict::Pass,
        cells,
    }
}

fn one(row: RowRecord) -> LimitRecord {
    let mut limits = of(&[row]);
    assert_eq!(limits.len(), 1);
    limits.remove(0)
}

#[test]
fn rows_that_were_not_measured_have_no_limits() {
    assert!(of(&[]).is_empty());
    assert!(of(&[row("echo", None, Vec::new())]).is_empty());
}

#[test]
fn the_ratio_to_bwrap_is_absent_where_bwrap_was_not_measured() {
    // The first is that of whole runs; entering a run has its own.
    let limit = of(&[row(TRUE, None, vec![cell(COLD, &[1])])]).remove(0);
    assert!(matches!(limit.verdict, Verdict::Absent(_)));
    assert_eq!((limit.value, limit.met), (None, None));
}

#[test]
fn what_an_act_costs_more_is_the_difference_of_the_medians_by_the_number_of_acts() {
    let limit = |inside: u64| {
        let cells = vec![
            cell(PLAIN, &[1_000_000; 5]),
            cell(INSIDE, &[1_000_000 + inside; 5]),
        ];
        one(row(&reads_name(), Some(1000), cells))
    };
    let met = limit(400_000);
    assert!((met.value.unwrap().value - 0.4).abs() < 1e-9);
    assert_eq!((met.unit.as_str(), met.met), ("µs", Some(true)));
    assert_eq!(limit(500_000).met, Some(false));
}

#[test]
fn what_an_act_takes_is_the_median_by_the_number_of_acts() {
    let cells = vec![cell(PLAIN, &[1; 3]), cell(INSIDE, &[90_000_000; 3])];
    let limit = one(row(&creates_name(), Some(1000), cells));
    assert!((limit.value.unwrap().value - 90.0).abs() < 1e-9);
    assert_eq!(limit.met, Some(true));
}

#[test]
fn a_build_has_a_limit_for_each_way_of_keeping_absent_names() {
    let cells = vec![
        cell(PLAIN, &[100; 5]),
        cell(COLD, &[104; 5]),
        cell(SWEEP, &[103; 5]),
    ];
    let met: Vec<_> = of(&[row(&build_name(), Some(2000), cells)])
        .iter()
        .map(|limit| limit.met)
        .collect();
    assert_eq!(met, [Some(true), Some(false)]);
}

#[test]
fn a_cell_that_did_not_pass_gives_no_figure() {
    let mut bad = cell(INSIDE, &[1; 5]);
    bad.verdict = Verdict::Fail("x".to_owned());
    let limit = one(row(
        &starts_name(),
        Some(3),
        vec![cell(PLAIN, &[1; 5]), bad],
    ));
    assert_eq!((limit.value, limit.met), (None, None));
}
