use super::*;

/// A run as it might be marked, in nanoseconds.
fn marked() -> Vec<Marked> {
    let end = |stage: Stage| match stage {
        Stage::Arguments => 1_100,
        Stage::Fork => 1_200,
        Stage::Policy => 1_500,
        Stage::Planned => 1_900,
        Stage::Ledger => 2_100,
        Stage::Ready => 2_600,
        Stage::Namespaces => 1_700,
        Stage::Base => 1_800,
        Stage::Plan => 1_950,
        Stage::Mounts => 2_200,
        Stage::Identity => 2_250,
        Stage::Landlock => 2_300,
        Stage::Seccomp => 2_400,
        Stage::Network => 2_500,
        Stage::HandOver => 2_550,
        Stage::Gate => 2_480,
        Stage::Prepared => 2_560,
        Stage::Exec => 2_700,
        Stage::Command => 3_200,
        Stage::Report => 3_300,
        Stage::Closed => 3_350,
    };
    STAGES
        .iter()
        .map(|&(stage, lane, name)| (lane, name, Some(end(stage))))
        .collect()
}

#[test]
fn what_the_run_waited_for_sums_to_its_wall_time() {
    let rows = rows(1_000, 600, 3_400, &marked());
    let total: u64 = rows.iter().map(|row| row.critical).sum();
    assert_eq!(total, 3_400 - (1_000 - 600));
    assert_eq!(rows.last().unwrap().name, "end");
}

#[test]
fn a_stage_that_ran_beside_a_longer_one_is_not_what_the_run_waited_for() {
    let rows = rows(1_000, 600, 3_400, &marked());
    let waited = |name: &str| rows.iter().find(|row| row.name == name).unwrap().critical;
    assert_eq!(waited("ledger"), 0);
    assert_eq!(waited("wait for plan"), 0);
    assert!(waited("gate") > 0);
    assert!(waited("load") == 600);
}

#[test]
fn a_run_that_stopped_early_has_a_table_of_what_it_reached() {
    let mut marked = marked();
    for (lane, name, end) in &mut marked {
        if *lane != Lane::Supervisor || ["wait for ready", "report", "close"].contains(name) {
            *end = None;
        }
    }
    let text = render(1_000, 600, 3_400, &marked);
    assert!(text.contains("policy"));
    assert!(!text.contains("seccomp"));
    let total: u64 = rows(1_000, 600, 3_400, &marked)
        .iter()
        .map(|r| r.critical)
        .sum();
    assert_eq!(total, 3_000);
}
