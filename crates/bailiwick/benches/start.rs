//! What a start costs, stage by stage, for whoever changes one: `cargo bench -p bailiwick --bench
//! start -- NAME` with a name of `baseline`, `prepare`, `plan`, `cold`, `overhead`. The name `warm`
//! is kept for entering a sandbox that runs already.
//!
//! Decision: these figures are for comparing two states of the code on one machine. Claims rest on
//! `bailiwick bench overhead`, whose samples are verified and whose sandboxes prove that they hold.

// A bench, like a test, ends where it cannot go on.
#![allow(clippy::expect_used)]

mod support;

use criterion::{BenchmarkId, Criterion};
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::Place;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    baseline(&mut criterion);
    prepare(&mut criterion);
    plan(&mut criterion);
    cold(&mut criterion);
    overhead(&mut criterion);
    criterion.final_summary();
}

/// A whole run of a command in a sandbox, or the command alone.
fn command(place: &Place, sandboxed: bool, flags: &[&str], argv: &[&str]) -> Command {
    let mut command = match sandboxed {
        false => Command::new(argv[0]),
        true => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_bailiwick"));
            command.arg("run").args(flags).arg("--").arg(argv[0]);
            command
        }
    };
    command
        .args(&argv[1..])
        .current_dir(place.workspace())
        .env("XDG_STATE_HOME", place.0.path().join("state"))
        .env("XDG_CONFIG_HOME", place.0.path().join("config"))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// Makes the workspace a git repository; false where there is no git.
fn make_repository(place: &Place) -> bool {
    let git = |arguments: &[&str]| {
        let identity = ["git", "-c", "user.name=b", "-c", "user.email=b@b.test"];
        command(place, false, &[], &[&identity, arguments].concat())
            .status()
            .is_ok_and(|status| status.success())
    };
    git(&["init", "--quiet", "--template="])
        && git(&["add", "--all"])
        && git(&["commit", "--quiet", "--no-verify", "--message=one"])
}

/// Runs a command to its end, which must be a good one.
fn run(mut command: Command) {
    let status = command.status().expect("the command starts");
    assert!(status.success(), "{command:?}: {status}");
}

/// `true` without a sandbox.
fn baseline(criterion: &mut Criterion) {
    let place = Place::new();
    criterion.bench_function("baseline", |bencher| {
        bencher.iter(|| run(command(&place, false, &[], &["true"])));
    });
}

/// From the start of the product's process until the command's image is about to be loaded: the
/// policy is read, every layer in force, the gate ready, the record made.
fn prepare(criterion: &mut Criterion) {
    let place = Place::new();
    criterion.bench_function("prepare", |bencher| {
        bencher.iter_custom(|runs| (0..runs).map(|_| prepared(&place)).sum());
    });
}

/// One traced run; the end of the stage in which the command's process is made, as its own clock
/// has it.
fn prepared(place: &Place) -> Duration {
    let output = command(place, true, &["--trace-startup"], &["true"])
        .stderr(Stdio::piped())
        .output()
        .expect("the command starts");
    let table = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{table}");
    stage_end(&table, "fork", "command").unwrap_or_else(|| panic!("no such stage in {table}"))
}

/// When a stage ended, in a table whose columns are stage, where, begin and duration.
fn stage_end(table: &str, stage: &str, lane: &str) -> Option<Duration> {
    table.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [name, place, begin, took, _] = words[..] else {
            return None;
        };
        let micros = |word: &str| word.parse().ok().map(Duration::from_micros);
        (name == stage && place == lane)
            .then(|| Some(micros(begin)? + micros(took)?))
            .flatten()
    })
}

/// From an effective policy to the plan of its root: nothing is read but what paths are.
fn plan(criterion: &mut Criterion) {
    let place = Place::new();
    let policy = bailiwick_policy::load(&place.request())
        .expect("the template is a policy")
        .effective;
    let private = place.private();
    criterion.bench_function("plan", |bencher| {
        bencher.iter(|| {
            let planned = bailiwick_process::rehearse(black_box(&policy), &private);
            black_box(planned.expect("the policy can be planned"))
        });
    });
}

/// A whole run of `true`.
fn cold(criterion: &mut Criterion) {
    let place = Place::new();
    criterion.bench_function("cold", |bencher| {
        bencher.iter(|| run(command(&place, true, &[], &["true"])));
    });
}

/// What agents do all day, without a sandbox and with one.
fn overhead(criterion: &mut Criterion) {
    let place = Place::new();
    let repository = make_repository(&place);
    let mut group = criterion.benchmark_group("overhead");
    let status = ["git", "--no-optional-locks", "status", "--porcelain"];
    let search = ["rg", "--no-config", "--count-matches", "needle"];
    for argv in [&["true"][..], &["python3", "-c", "pass"], &status, &search] {
        let mut version = Command::new(argv[0]);
        let version = version.arg("--version").stdout(Stdio::null()).status();
        if version.is_err() || argv[0] == "git" && !repository {
            eprintln!("overhead/{}: not installed", argv[0]);
            continue;
        }
        for (column, sandboxed) in [("plain", false), ("sandboxed", true)] {
            group.bench_function(BenchmarkId::new(argv[0], column), |bencher| {
                bencher.iter(|| run(command(&place, sandboxed, &[], argv)));
            });
        }
    }
    group.finish();
}
