use super::*;
use crate::testing::good;

#[test]
fn a_result_that_did_not_pass_has_no_figure_in_the_table() {
    let mut evidence = good().evidence.clone();
    let before = text(&evidence);
    let cell = &mut evidence.rows[0].cells[1];
    let shown = figure(cell);
    assert!(before.contains(shown.lines().next().unwrap()));
    cell.verdict = Verdict::Fail("the disk was on fire".to_owned());
    assert!(cell.median.is_some());
    assert_eq!(figure(cell), "fail");
    let after = text(&evidence);
    assert!(after.contains("fail: the disk was on fire\n    true / bailiwick cold"));
}

#[test]
fn a_limit_that_is_missed_is_shown_with_its_figure_and_fails_the_run() {
    let mut evidence = good().evidence.clone();
    let limit = &mut evidence.limits[0];
    limit.limit = 0.0;
    limit.met = Some(false);
    let outcome = Outcome::new(&evidence, "x.json".into());
    assert!(!outcome.all_passed);
    assert!(outcome.to_string().contains("MiB: EXCEEDED"), "{outcome}");
}

#[test]
fn what_a_peer_does_fails_its_cell_and_not_the_run() {
    let mut evidence = good().evidence.clone();
    for limit in &mut evidence.limits {
        limit.met = limit.met.map(|_| true);
    }
    let peer = evidence.rows[0].cells.last_mut().unwrap();
    assert_eq!(peer.system, "bwrap");
    peer.verdict = Verdict::Fail("x".to_owned());
    assert!(Outcome::new(&evidence, "x.json".into()).all_passed);
    evidence.rows[0].verdict = Verdict::Fail("x".to_owned());
    assert!(!Outcome::new(&evidence, "x.json".into()).all_passed);
}
