use super::*;

fn record() -> CounterRecord {
    CounterRecord {
        row: "true".to_owned(),
        workload: "true".to_owned(),
        system: "plain".to_owned(),
        argv: Vec::new(),
        in_force: None,
        traced: Verdict::Pass,
        execs: vec![1, 1, 1],
        calls: vec![30, 29, 31],
        accounted: Verdict::Pass,
        voluntary: vec![4, 5, 6],
        involuntary: vec![0, 0, 7],
        minor: vec![90, 91, 92],
        major: vec![0, 0, 0],
    }
}

#[test]
fn nothing_counted_has_no_table() {
    assert_eq!(table(&[]), None);
}

#[test]
fn a_row_has_the_medians() {
    let shown = table(&[record()]).unwrap();
    let row = shown.lines().find(|line| line.contains("plain")).unwrap();
    let words: Vec<&str> = row.split_ascii_whitespace().collect();
    assert_eq!(
        words,
        "true plain 1 30 5 + 0 91 + 0"
            .split(' ')
            .collect::<Vec<_>>()
    );
}

#[test]
fn what_was_not_counted_has_a_word_and_no_figure() {
    let mut record = record();
    record.traced = Verdict::NotApplicable("set-user-id".to_owned());
    record.accounted = Verdict::Fail("x".to_owned());
    let shown = table(&[record]).unwrap();
    let row = shown.lines().find(|line| line.contains("plain")).unwrap();
    let words: Vec<&str> = row.split_ascii_whitespace().collect();
    assert_eq!(words, ["true", "plain", "n/a", "n/a", "fail", "fail"]);
}
