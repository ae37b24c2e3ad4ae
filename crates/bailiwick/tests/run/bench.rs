//! `bailiwick bench` counts what a run does and tells mistakes of its caller's. What the figures
//! say is measured and not tested.

use crate::support::{Finished, binary, run_to_end};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// A folder on a disk, which a workspace of the bench has to lie on.
fn folder() -> TempDir {
    let home = std::env::home_dir().unwrap();
    tempfile::Builder::new()
        .prefix(".bailiwick-test-")
        .tempdir_in(home)
        .unwrap()
}

fn overhead(out: &Path, flags: &[&str]) -> Finished {
    let mut command = Command::new(binary());
    command
        .args(["bench", "overhead", "--quick", "--peer", "bwrap", "--out"])
        .arg(out)
        .args(flags);
    run_to_end(&mut command, b"", Duration::from_secs(120))
}

fn evidence(out: &Path) -> serde_json::Value {
    let file = std::fs::read_dir(out)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|e| e == "json"))
        .unwrap();
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

#[test]
fn what_a_run_does_is_counted_in_runs_that_are_not_timed() {
    let out = folder();
    let flags = ["--runs", "0", "--counters", "--row", "echo"];
    let finished = overhead(out.path(), &flags).success();
    assert!(
        finished.stdout().contains("system calls"),
        "{}",
        finished.stdout()
    );
    let evidence = evidence(out.path());
    assert_eq!(evidence["rows"].as_array().unwrap().len(), 0);
    let of = |system: &str| {
        let counters = evidence["counters"].as_array().unwrap();
        let found = counters.iter().find(|record| record["system"] == system);
        found
            .unwrap_or_else(|| panic!("{system} was not counted"))
            .clone()
    };
    let (plain, cold) = (of("plain"), of("bailiwick cold"));
    assert_eq!(plain["execs"], serde_json::json!([1, 1]));
    // No helper program: ours is one, the command is the other.
    assert_eq!(cold["execs"], serde_json::json!([2, 2]));
    for record in [&plain, &cold] {
        assert_eq!(record["traced"]["verdict"], "pass", "{record}");
        assert_eq!(record["accounted"]["verdict"], "pass", "{record}");
        for what in ["calls", "minor"] {
            let counts = record[what].as_array().unwrap();
            assert!(counts.iter().all(|n| n.as_u64().unwrap() > 10), "{record}");
        }
    }
    assert!(cold["calls"][0].as_u64() > plain["calls"][0].as_u64());
}

#[test]
fn a_row_that_there_is_not_is_told_with_those_that_there_are() {
    let out = folder();
    let finished = overhead(out.path(), &["--row", "nonesuch"]);
    assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr());
    for part in ["nonesuch", "git status", "--version"] {
        assert!(finished.stderr().contains(part), "{}", finished.stderr());
    }
}

#[test]
fn runs_of_none_are_told_unless_something_is_counted() {
    let out = folder();
    let finished = overhead(out.path(), &["--runs", "0"]);
    assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr());
    assert!(
        finished.stderr().contains("--counters"),
        "{}",
        finished.stderr()
    );
}
