use super::*;
use crate::testing::good;
use crate::verdict::Verdict;
use proptest::prelude::*;

/// A good run whose samples are replaced: `plain` and the product's, thirty of each, with a spread
/// of a few percent.
fn evidence(plain: u64, cold: u64) -> Evidence {
    let mut evidence = good().evidence.clone();
    for row in &mut evidence.rows {
        for cell in &mut row.cells {
            let centre = if cell.system == PLAIN { plain } else { cold };
            cell.verdict = Verdict::Pass;
            cell.samples = (0..30)
                .map(|i| centre + centre / 1000 * (i * 7 % 30))
                .collect();
        }
    }
    evidence
}

fn cold(comparison: &Comparison) -> &ComparisonRow {
    comparison
        .rows
        .iter()
        .find(|row| row.row == "true" && row.system == "bailiwick cold")
        .unwrap()
}

fn message(a: &Evidence, b: &Evidence) -> String {
    match compare_evidence(a, b) {
        Err(Failure::Usage(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_is_no_different_from_itself() {
    let a = evidence(1_000_000, 3_000_000);
    let found = compare_evidence(&a, &a).unwrap();
    assert!(!found.factors_only);
    assert_eq!(
        found.rows.len(),
        a.rows.iter().map(|r| r.cells.len()).sum::<usize>()
    );
    assert!(
        found
            .rows
            .iter()
            .all(|row| row.change == Change::NoDifference)
    );
}

#[test]
fn files_of_counts_alone_have_no_times_to_compare() {
    let mut counts = evidence(1, 1);
    counts.rows.clear();
    assert!(message(&counts, &counts).contains("timed row"));
}

#[test]
fn half_the_time_is_faster_and_twice_is_slower() {
    let (a, b) = (
        evidence(1_000_000, 6_000_000),
        evidence(1_000_000, 3_000_000),
    );
    let found = compare_evidence(&a, &b).unwrap();
    assert_eq!(cold(&found).change, Change::Faster);
    assert!((cold(&found).ratio.unwrap().value - 0.5).abs() < 0.01);
    assert!(cold(&found).p.unwrap() < 0.001);
    assert_eq!(
        cold(&compare_evidence(&b, &a).unwrap()).change,
        Change::Slower
    );
    assert!(found.to_string().contains("faster"));
}

#[test]
fn across_machines_only_factors_are_compared() {
    // Another machine, twice as slow in everything: no difference in what the sandbox costs.
    let (a, mut b) = (
        evidence(1_000_000, 3_000_000),
        evidence(2_000_000, 6_000_000),
    );
    b.environment.host.push_str("-2");
    let found = compare_evidence(&a, &b).unwrap();
    assert!(found.factors_only);
    assert_eq!(cold(&found).change, Change::NoDifference);
    assert!(found.rows.iter().all(|row| row.system != PLAIN));
    // On the same machine the same samples are a difference.
    b.environment.host = a.environment.host.clone();
    assert_eq!(
        cold(&compare_evidence(&a, &b).unwrap()).change,
        Change::Slower
    );
}

#[test]
fn another_accelerator_is_another_machine() {
    let (a, mut b) = (
        evidence(1_000_000, 3_000_000),
        evidence(1_000_000, 3_000_000),
    );
    b.environment.accelerator = "tcg".to_owned();
    assert!(compare_evidence(&a, &b).unwrap().factors_only);
}

#[test]
fn different_parameters_are_refused() {
    let (a, mut b) = (evidence(1, 1), evidence(1, 1));
    b.parameters.runs += 1;
    assert!(message(&a, &b).contains("different parameters"));
}

#[test]
fn different_work_is_refused() {
    let (a, mut b) = (evidence(1, 1), evidence(1, 1));
    b.rows[5].workload = "another search".to_owned();
    assert!(message(&a, &b).contains("another search"));
    b.rows.pop();
    assert!(message(&a, &b).contains("different work"));
}

#[test]
fn a_result_that_did_not_pass_is_not_compared() {
    let (a, mut b) = (evidence(1000, 3000), evidence(1000, 3000));
    b.rows[0].cells[1].verdict = Verdict::Inconclusive("contended".to_owned());
    let found = compare_evidence(&a, &b).unwrap();
    assert_eq!(
        cold(&found).change,
        Change::NotCompared("the second run's \"bailiwick cold\" is inconclusive".to_owned())
    );
    assert_eq!((cold(&found).ratio, cold(&found).p), (None, None));
}

#[test]
fn an_edited_median_changes_nothing() {
    let (a, mut b) = (
        evidence(1_000_000, 3_000_000),
        evidence(1_000_000, 3_000_000),
    );
    for cell in &mut b.rows[0].cells {
        cell.median = None;
        cell.factor = None;
    }
    assert_eq!(
        cold(&compare_evidence(&a, &b).unwrap()).change,
        Change::NoDifference
    );
}

#[test]
fn another_schema_or_suite_is_refused() {
    let json = serde_json::to_value(&good().evidence).unwrap();
    let parse = |key: &str, value: serde_json::Value| {
        let mut json = json.clone();
        json[key] = value;
        Evidence::parse(&serde_json::to_vec(&json).unwrap()).unwrap_err()
    };
    assert!(parse("schema", 2.into()).contains("schema 2"));
    assert!(parse("suite", "boot".into()).contains("\"boot\""));
    assert!(parse("rows", 3.into()).contains("damaged"));
    assert!(Evidence::read(Path::new("/no/such/file")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn no_file_can_break_the_comparison(at: prop::sample::Index, with: Vec<u8>) {
        let mut bytes = serde_json::to_vec(&good().evidence).unwrap();
        let at = at.index(bytes.len());
        let end = (at + with.len()).min(bytes.len());
        bytes.splice(at..end, with);
        if let Ok(found) = Evidence::parse(&bytes)
            && let Ok(comparison) = compare_evidence(&good().evidence, &found)
        {
            let _ = comparison.to_string();
        }
    }

    #[test]
    fn no_samples_can_break_the_comparison(samples: Vec<u64>) {
        let a = evidence(1000, 3000);
        let mut b = a.clone();
        b.rows.truncate(1);
        for cell in &mut b.rows[0].cells {
            cell.samples = samples.clone();
        }
        let mut a = a;
        a.rows.truncate(1);
        let _ = compare_evidence(&a, &b).unwrap().to_string();
        b.environment.host.push('x');
        let _ = compare_evidence(&a, &b).unwrap().to_string();
    }
}
