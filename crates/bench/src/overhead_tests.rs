use super::*;
use crate::profile::POLICY;
use crate::testing::{
    BWRAP, Good, folder, good, helper_of_a_user, lenient, needs_bwrap, options, run, run_under,
    script, stand_in,
};
use crate::verdict::Verdict;

/// Rows by parts of their names.
fn rows<const N: usize>(parts: [&str; N]) -> Vec<String> {
    parts.map(str::to_owned).to_vec()
}

const NOTHING: &str = stand_in!("exec \"$@\"\n");

#[test]
fn a_sandbox_that_holds_passes_every_row_whose_program_is_installed() {
    let Good {
        outcome, evidence, ..
    } = good();
    assert_eq!(evidence.rows.len(), 14);
    for row in &evidence.rows {
        let installed = !matches!(row.cells[0].verdict, Verdict::Absent(_));
        assert_eq!(
            row.verdict.passed(),
            installed,
            "{}: {}",
            row.name,
            row.verdict
        );
        for cell in &row.cells {
            assert_eq!(cell.samples.len(), if installed { 2 } else { 0 });
            assert_eq!(cell.median.is_some(), installed);
            assert_eq!(cell.factor.is_some(), installed);
            assert_eq!(cell.in_force.is_some(), installed && cell.system != "plain");
        }
    }
    assert_eq!(
        outcome.rows.len(),
        evidence.rows.len() + evidence.limits.len()
    );
    assert!(outcome.rows[0].verdict.passed());
}

#[test]
fn the_evidence_says_what_ran_and_under_which_policy() {
    let Good { evidence, log, .. } = good();
    let argv: Vec<String> = evidence.rows[0]
        .cell("bailiwick cold")
        .unwrap()
        .argv
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(argv[1..3], ["run", "--policy"]);
    assert_eq!(argv[6..], ["--cold", "--", "true"]);
    let policy = &evidence.authority[0];
    assert_eq!(policy.text, POLICY);
    assert_eq!(
        policy.hash,
        blake3::hash(POLICY.as_bytes()).to_hex().as_str()
    );
    let samples = evidence.rows[0].cells.len() * 3;
    assert_eq!(
        log.lines().filter(|l| l.starts_with("true\t")).count(),
        samples
    );
}

#[test]
fn the_evidence_and_the_log_are_all_that_stays() {
    let Good {
        outcome,
        evidence,
        left,
        ..
    } = good();
    let json = outcome.evidence.file_name().unwrap().to_str().unwrap();
    assert_eq!(*left, [json, &evidence.log]);
}

#[test]
fn a_sandbox_that_does_nothing_fails_every_row_and_has_no_figure() {
    let (_directory, outcome, evidence) = run(NOTHING, |_| {}).unwrap();
    assert!(!outcome.all_passed);
    for row in &evidence.rows {
        for cell in row
            .cells
            .iter()
            .filter(|c| c.system.starts_with("bailiwick"))
        {
            if matches!(cell.verdict, Verdict::Absent(_)) {
                continue;
            }
            assert!(
                cell.verdict.reason().starts_with("not in force"),
                "{}: {}",
                row.name,
                cell.verdict
            );
            assert!(cell.samples.is_empty() && cell.median.is_none() && cell.factor.is_none());
        }
        assert!(row.cells[0].verdict.passed() || matches!(row.verdict, Verdict::Absent(_)));
    }
}

#[test]
fn a_program_that_does_not_run_the_command_fails_every_row() {
    let idle = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'bailiwick 0.0.0 (release)'\nexit 0\n";
    let (_directory, outcome, evidence) = run(idle, |_| {}).unwrap();
    assert!(!outcome.all_passed);
    let cold = evidence.rows[0].cell("bailiwick cold").unwrap();
    assert!(matches!(cold.verdict, Verdict::Fail(_)), "{}", cold.verdict);
    assert!(
        evidence.limits[0].value.is_none(),
        "its memory is no figure either"
    );
}

#[test]
fn a_command_that_fails_once_is_out() {
    needs_bwrap();
    let flaky = BWRAP.replace(
        "exec bwrap",
        "for w; do [ \"$w\" = echo ] && { echo wrong; exit 0; }; done\nexec bwrap",
    );
    let (_directory, _, evidence) = run(&flaky, |o| o.rows = rows(["true", "echo"])).unwrap();
    let row = evidence.rows.iter().find(|r| r.name == "echo").unwrap();
    let cold = row.cell("bailiwick cold").unwrap();
    assert_eq!(
        cold.verdict,
        Verdict::Fail("run 0: printed \"wrong\\n\" instead of \"bailiwick\\n\"".to_owned())
    );
    assert!(matches!(&row.verdict, Verdict::Fail(r) if r.starts_with("bailiwick cold: ")));
    assert!(evidence.rows[0].verdict.passed());
}

#[test]
fn a_sandbox_that_opens_the_whole_network_fails_the_network_row_alone() {
    needs_bwrap();
    let open = BWRAP.replace(
        "exec bwrap --unshare-all",
        "address=$(sed -n 's/^\"bench.test\" = \"\\(.*\\)\"$/\\1/p' \"$3\")\n\
         [ -n \"$address\" ] && { net=--share-net; export http_proxy=http://$address; }\n\
         exec bwrap --unshare-all $net",
    );
    // The policy is the third word only before the shift.
    let open = open.replace("\"$3\")", "\"$policy\")");
    let (_directory, _, evidence) = run(&open, |o| {
        o.network = true;
        o.rows = rows(["true", "curl"]);
    })
    .unwrap();
    let row = evidence.rows.last().unwrap();
    assert_eq!(row.name, "curl, loopback");
    assert!(row.cells[0].verdict.passed(), "{}", row.cells[0].verdict);
    let cold = row.cell("bailiwick cold").unwrap();
    assert!(
        cold.verdict.reason().contains("loopback was reached"),
        "{}",
        cold.verdict
    );
    assert!(
        evidence.rows[0].verdict.passed(),
        "{}",
        evidence.rows[0].verdict
    );
    let networks: Vec<&str> = evidence
        .authority
        .iter()
        .filter(|policy| policy.text.contains("bench.test"))
        .map(|policy| policy.rows.as_str())
        .collect();
    assert_eq!(networks, ["rows with a network"]);
}

fn refusal(text: &str, change: impl FnOnce(&mut OverheadOptions)) -> String {
    match run(text, change) {
        Err(Failure::Usage(message)) => message,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it ran"),
    }
}

#[test]
fn a_debug_build_is_measured_only_quickly_and_never_published() {
    let debug = BWRAP.replace("release", "debug");
    assert!(refusal(&debug, |_| {}).contains("debug build"));
    needs_bwrap();
    let (_directory, _, evidence) = run(&debug, |o| {
        o.quick = true;
        o.rows = rows(["true"]);
    })
    .unwrap();
    assert!(!evidence.publishable && !evidence.product.release);
}

#[test]
fn a_debug_bench_refuses_to_measure_for_publication() {
    let directory = folder();
    let mut conditions = lenient();
    conditions.release = false;
    let options = options(directory.path(), script(directory.path(), BWRAP));
    let failure = overhead_under(&conditions, &options, &mut |_| {}).unwrap_err();
    assert!(
        failure.to_string().contains("this bench is a debug build"),
        "{failure}"
    );
    assert!(!options.out.exists());
}

#[test]
fn a_program_that_is_not_the_product_is_refused() {
    let message = refusal("#!/bin/sh\necho some other tool 1.2\n", |_| {});
    assert!(message.contains("some other tool 1.2"), "{message}");
    let message = refusal(BWRAP, |o| o.binary = "/no/such/file".into());
    assert!(message.contains("/no/such/file"), "{message}");
}

#[test]
fn an_unknown_peer_is_refused_with_the_known_ones() {
    let message = refusal(BWRAP, |o| o.peers = Some(vec!["bwrp".to_owned()]));
    assert!(
        message.contains("\"bwrp\"") && message.contains("bwrap, fence"),
        "{message}"
    );
}

#[test]
fn a_run_of_some_rows_has_those_and_their_limits_alone() {
    needs_bwrap();
    let (_directory, _, evidence) = run(BWRAP, |o| o.rows = rows(["starts of", "ech"])).unwrap();
    let names: Vec<&str> = evidence.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["echo", "3 starts of true"]);
    let limits: Vec<&str> = evidence.limits.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(limits, ["3 starts of true: bailiwick inside over plain"]);
    assert!(evidence.counters.is_empty());
}

#[test]
fn a_row_that_there_is_not_is_refused_with_those_that_there_are() {
    let message = refusal(BWRAP, |o| {
        o.rows = vec!["true".to_owned(), "ture".to_owned()]
    });
    assert!(
        message.contains("\"ture\"") && message.contains("git status"),
        "{message}"
    );
    // The build is no part of a quick run.
    let message = refusal(BWRAP, |o| {
        o.quick = true;
        o.rows = vec!["compiler".to_owned()];
    });
    assert!(message.contains("\"compiler\""), "{message}");
}

#[test]
fn counted_runs_are_no_rows_and_timed_runs_are_not_counted() {
    needs_bwrap();
    let directory = folder();
    let mut conditions = lenient();
    conditions.helper = helper_of_a_user(directory.path());
    let (_directory, outcome, evidence) = run_under(&conditions, BWRAP, |o| {
        o.runs = 0;
        o.counters = true;
        o.rows = vec!["echo".to_owned()];
        o.peers = Some(vec!["bwrap".to_owned()]);
    })
    .unwrap();
    assert!(outcome.all_passed, "{outcome}");
    assert!(evidence.rows.is_empty() && evidence.limits.is_empty() && !evidence.publishable);
    let of = |system: &str| {
        let record = evidence.counters.iter().find(|r| r.system == system);
        record.unwrap_or_else(|| panic!("{system} was not counted"))
    };
    let (plain, cold, bwrap) = (of("plain"), of("bailiwick cold"), of("bwrap"));
    assert_eq!(plain.execs, [1; 5]);
    let few = plain.calls.iter().all(|calls| (10..300).contains(calls));
    assert!(few, "{:?}", plain.calls);
    // A shell that looks into the policy, and then bwrap, which starts the command.
    assert_eq!(cold.execs, [4; 5]);
    assert_eq!(bwrap.execs, [2; 5]);
    assert!(bwrap.calls[0] > plain.calls[0] && cold.calls[0] > bwrap.calls[0]);
    assert!(bwrap.minor.iter().min() > plain.minor.iter().max());
    for record in [plain, cold, bwrap] {
        assert_eq!(record.in_force.is_some(), record.system != "plain");
        assert!(record.in_force.iter().all(|check| check.holds));
    }
    assert!(
        !evidence
            .counters
            .iter()
            .any(|r| r.system == "bailiwick inside")
    );
}

#[test]
fn what_does_not_hold_or_does_not_work_has_no_counts() {
    let counters = |text: &str| {
        let (_directory, outcome, evidence) = run(text, |o| {
            o.runs = 0;
            o.counters = true;
            o.rows = vec!["echo".to_owned()];
        })
        .unwrap();
        assert!(!outcome.all_passed);
        evidence.counters[1].clone()
    };
    let open = counters(NOTHING);
    assert!(open.traced.reason().starts_with("not in force"), "{open:?}");
    needs_bwrap();
    let wrong = BWRAP.replace(
        "exec bwrap",
        "for w; do [ \"$w\" = echo ] && { echo wrong; exit 0; }; done\nexec bwrap",
    );
    let wrong = counters(&wrong);
    assert!(
        wrong.traced.reason().contains("printed \"wrong"),
        "{wrong:?}"
    );
    for record in [open, wrong] {
        assert!(record.execs.is_empty() && record.minor.is_empty());
    }
}

#[test]
fn no_runs_are_refused() {
    assert!(refusal(BWRAP, |o| o.runs = 0).contains("--runs 0"));
}

#[test]
fn two_builds_take_turns_and_each_is_copied_anew() {
    needs_bwrap();
    let directory = folder();
    let other = directory.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let other = script(&other, BWRAP);
    let (kept, outcome, evidence) = run(BWRAP, |options| {
        options.against = Some(other);
        options.rows = rows(["true"]);
        options.runs = 12;
    })
    .unwrap();
    let columns: Vec<&str> = evidence.systems.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(columns, ["plain", "bailiwick cold", "against"]);
    assert!(evidence.limits.is_empty());
    let row = &evidence.rows[0];
    assert!(row.verdict.passed(), "{}", row.verdict);
    assert!(row.cells.iter().all(|cell| cell.samples.len() == 12));
    let log = std::fs::read_to_string(kept.path().join("out").join(&evidence.log)).unwrap();
    let runs: Vec<&str> = log
        .lines()
        .filter_map(|line| line.strip_prefix("true\tagainst\t"))
        .filter_map(|rest| rest.split('\t').next())
        .collect();
    let numbers: Vec<String> = (0..=10)
        .chain([0, 11, 12])
        .map(|n: u32| n.to_string())
        .collect();
    assert_eq!(runs, numbers, "the first run of new copies is not counted");
    let told = outcome.to_string();
    assert!(told.contains("of the time of the other build: "), "{told}");
}

#[test]
fn a_program_that_is_no_build_is_not_compared_with() {
    needs_bwrap();
    let wrong = run(BWRAP, |options| options.against = Some("/bin/true".into()));
    let Err(Failure::Usage(message)) = wrong else {
        panic!("it was measured");
    };
    assert!(message.starts_with("--against /"), "{message}");
}
