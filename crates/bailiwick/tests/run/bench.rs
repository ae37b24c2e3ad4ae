//! `bailiwick bench` counts what a run does and tells mistakes of its caller's. What the figures
//! say is measured and not tested.

use crate::support::evidence::{all_verified, evidence, folder, product, short};
use crate::support::{Finished, run_to_end};
use std::path::Path;
use std::time::Duration;

/// How long a suite may take in its quick form, on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(600);

fn overhead(out: &Path, flags: &[&str]) -> Finished {
    let mut command = product();
    command
        .args(["bench", "overhead", "--quick", "--peer", "bwrap", "--out"])
        .arg(out)
        .args(flags);
    run_to_end(&mut command, b"", PATIENCE)
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

#[test]
fn what_passes_the_gate_is_verified_by_client_server_and_ledger() {
    let rows = [
        "--row",
        "GET",
        "--row",
        "new TLS",
        "--row",
        "names",
        "--row",
        "crowd of 10",
    ];
    let words = [&["bench", "gate"], &rows[..]].concat();
    let evidence = short(&words);
    all_verified(&evidence);
    let rows = evidence["rows"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    let kept = &row("kept-alive GET")["counted"];
    assert_eq!(kept["ledger"], kept["expected of the ledger"]);
    assert_eq!(
        kept["ledger"]["requests allowed"],
        kept["ledger"]["answers with 200"]
    );
    assert!(kept["ledger"]["TLS looked into"].as_u64().unwrap() >= 3);
    // The server heard of every request of both sides, and of no other.
    let pages = kept["origin"]["pages"].as_u64().unwrap();
    assert_eq!(
        pages,
        2 * kept["ledger"]["requests allowed"].as_u64().unwrap()
    );
    let refused = &row("refused GET, kept alive")["counted"];
    assert_eq!(refused["origin"], serde_json::json!({}));
}

#[test]
fn a_rule_that_is_added_while_a_run_goes_on_refuses_exactly_what_all_count() {
    for (what, expected) in [("dns", 2 * 17), ("http", 17), ("exec", 9)] {
        let evidence = short(&["bench", "enforce", what]);
        all_verified(&evidence);
        let counts = evidence["rows"][0]["counted"]["counts"]
            .as_object()
            .unwrap();
        assert_eq!(counts.len(), 4, "{what}: {counts:?}");
        assert!(counts.values().all(|n| n == expected), "{what}: {counts:?}");
    }
}

#[test]
fn a_row_of_the_gate_that_there_is_not_is_told() {
    let mut command = product();
    command.args(["bench", "gate", "--quick", "--row", "nonesuch"]);
    let finished = run_to_end(&mut command, b"", PATIENCE);
    assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr());
    for part in ["nonesuch", "kept-alive GET", "10 GB body"] {
        assert!(finished.stderr().contains(part), "{}", finished.stderr());
    }
}

/// A suite about machines, that is told something wrong.
fn mistaken(words: &[&str], parts: &[&str]) {
    let out = folder();
    let mut command = product();
    command
        .arg("bench")
        .args(words)
        .arg("--out")
        .arg(out.path());
    let finished = run_to_end(&mut command, b"", PATIENCE);
    assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr());
    for part in parts {
        assert!(finished.stderr().contains(part), "{}", finished.stderr());
    }
    let left = std::fs::read_dir(out.path()).unwrap().count();
    assert_eq!(left, 0, "something was begun");
}

#[test]
fn a_suite_about_machines_that_cannot_be_run_as_asked_says_what_to_write() {
    for suite in ["boot", "lifecycle"] {
        mistaken(&[suite, "--quick"], &["--backend vm"]);
    }
    mistaken(&["disk", "--row", "nonesuch"], &["nonesuch", "random read"]);
    mistaken(&["disk", "--cpus", "2"], &["--cpus", "--backend vm"]);
    mistaken(&["http", "ftp://x/"], &["ftp://x/", "https://HOST"]);
    mistaken(&["http", "https://x:99999/"], &["port"]);
}

#[test]
fn a_size_that_is_none_is_told_with_the_variable_it_came_from() {
    for size in ["0", "many", "-1"] {
        let mut command = product();
        command
            .args(["bench", "disk", "--quick"])
            .env("BAILIWICK_BENCH_SIZE_MB", size);
        let finished = run_to_end(&mut command, b"", PATIENCE);
        assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr());
        for part in ["BAILIWICK_BENCH_SIZE_MB", size] {
            assert!(finished.stderr().contains(part), "{}", finished.stderr());
        }
    }
}
