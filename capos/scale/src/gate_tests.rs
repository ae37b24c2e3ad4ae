#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::line::{Activity, Told};
use clap::Parser as _;

fn arguments(words: &[&str]) -> Arguments {
    let all = ["scale", "--programs", "/nowhere"].iter().chain(words);
    Arguments::try_parse_from(all).unwrap()
}

fn host(cores: usize) -> Host {
    Host {
        cpus: (0..cores).collect(),
        cores,
    }
}

fn run(system: System, processors: u32, number: u32, elapsed: u64) -> Run {
    Run {
        case: Case { system, processors },
        number,
        told: Ok(Told {
            workload: "primes".into(),
            variant: "process".into(),
            workers: processors,
            cpus: processors,
            verified: true,
            elapsed,
            each: vec![elapsed],
            activity: (system == System::Capos).then(Activity::default),
        }),
        status: Some(system.good_status()),
        waited: 0.0,
        load: 0.0,
        is_contended: false,
    }
}

/// Boots of a system whose two and four processors take so long where one takes 1,000,000.
fn boots(system: System, count: u32, two: u64, four: u64) -> Vec<Run> {
    let each = |number| {
        let noise = u64::from(number % 3) * 1000;
        [(1, 1_000_000), (2, two), (4, four)]
            .map(|(processors, elapsed)| run(system, processors, number, elapsed + noise))
    };
    (1..=count).flat_map(each).collect()
}

fn verdict(words: &[&str], runs: &[Run]) -> Verdict {
    judge(&arguments(words), &host(2), runs).verdict()
}

fn own(words: &[&str], runs: &[Run]) -> Verdict {
    judge(&arguments(words), &host(2), runs).own()
}

#[test]
fn twice_as_fast_passes_and_what_does_not_scale_fails() {
    for (two, gate, limit) in [
        (450_000, Verdict::Inconclusive, Verdict::Inconclusive),
        (510_000, Verdict::Pass, Verdict::Pass),
        (560_000, Verdict::Pass, Verdict::Fail),
        (700_000, Verdict::Fail, Verdict::Fail),
        (1_000_000, Verdict::Fail, Verdict::Fail),
    ] {
        let runs = boots(System::Capos, 5, two, 500_000);
        assert_eq!(verdict(&[], &runs), gate, "{two}");
        assert_eq!(own(&[], &runs), limit, "{two}");
    }
    let judged = judge(
        &arguments(&[]),
        &host(2),
        &boots(System::Capos, 5, 560_000, 1),
    );
    let text = judged.to_string();
    assert!(
        text.contains("pass: capos: two processors are 1.78"),
        "{text}"
    );
    assert!(
        text.contains("own limit, fail: capos: two processors are 1.9x one")
            && text.contains("verdict: pass; own limits: fail"),
        "{text}"
    );
}

#[test]
fn a_limit_that_is_missed_within_the_interval_is_not_shown_to_be_missed() {
    let mut runs = boots(System::Capos, 5, 530_000, 500_000);
    let twos = runs.iter_mut().filter(|run| run.case.processors == 2);
    for (run, elapsed) in twos.zip([500_000, 505_000, 530_000, 540_000, 550_000]) {
        run.told.as_mut().unwrap().elapsed = elapsed;
    }
    assert_eq!(own(&[], &runs), Verdict::Inconclusive);
    assert_eq!(verdict(&[], &runs), Verdict::Pass);
}

#[test]
fn a_boot_that_was_not_verified_fails_however_fast_it_was() {
    let mut runs = boots(System::Capos, 5, 510_000, 500_000);
    runs[4].told = Err("what the workers found is not right".into());
    let judged = judge(&arguments(&[]), &host(2), &runs);
    assert_eq!(judged.verdict(), Verdict::Fail);
    assert!(
        judged
            .to_string()
            .contains("1 of 15 boots were not verified")
    );
}

#[test]
fn one_interrupt_in_a_timed_part_fails() {
    let disturb: [fn(&mut Activity); 5] = [
        |a| a.ipis = 1,
        |a| a.locks = 1,
        |a| a.timer = 1,
        |a| a.switches = 1,
        |a| a.calls = 1,
    ];
    for disturb in disturb {
        let mut runs = boots(System::Capos, 5, 510_000, 500_000);
        disturb(runs[1].told.as_mut().unwrap().activity.as_mut().unwrap());
        assert_eq!(verdict(&[], &runs), Verdict::Fail);
    }
    let mut runs = boots(System::Capos, 5, 510_000, 500_000);
    runs[1].told.as_mut().unwrap().activity = None;
    assert_eq!(verdict(&[], &runs), Verdict::Fail, "it has to be told");
}

#[test]
fn what_the_host_disturbed_does_not_count_and_too_little_is_inconclusive() {
    let mut runs = boots(System::Capos, 5, 510_000, 500_000);
    let mut busy = run(System::Capos, 2, 5, 2_000_000);
    busy.is_contended = true;
    runs.push(busy);
    assert_eq!(verdict(&[], &runs), Verdict::Pass);
    runs[1].is_contended = true;
    assert_eq!(verdict(&[], &runs), Verdict::Inconclusive);
    runs.iter_mut().for_each(|run| run.is_contended = true);
    assert_eq!(verdict(&[], &runs), Verdict::Inconclusive);
    assert_eq!(verdict(&[], &[]), Verdict::Inconclusive);
}

#[test]
fn four_processors_are_functional_only_without_four_cores() {
    let runs = boots(System::Capos, 5, 510_000, 500_000);
    let text = judge(&arguments(&[]), &host(2), &runs).to_string();
    assert!(
        text.contains("smp4: median 501000 ticks") && text.contains("functional only"),
        "{text}"
    );
    let text = judge(&arguments(&[]), &host(4), &runs).to_string();
    assert!(!text.contains("functional only"), "{text}");
}

#[test]
fn beside_linux_the_interval_decides_and_needs_fifteen_boots() {
    let both = |count, ours, theirs| {
        let mut runs = boots(System::Capos, count, ours, 520_000);
        runs.extend(boots(System::Linux, count, theirs, 520_000));
        runs
    };
    let words = ["--beside-linux", "--runs", "15"];
    assert_eq!(own(&words, &both(15, 510_000, 510_000)), Verdict::Pass);
    let few = ["--beside-linux", "--runs", "5"];
    assert_eq!(own(&few, &both(5, 510_000, 510_000)), Verdict::Inconclusive);
    assert_eq!(own(&words, &both(15, 525_000, 505_000)), Verdict::Fail);
}

#[test]
fn four_on_two_cores_may_not_cost_more_than_on_linux() {
    let mut runs = boots(System::Capos, 15, 510_000, 600_000);
    runs.extend(boots(System::Linux, 15, 510_000, 520_000));
    let words = ["--beside-linux", "--runs", "15"];
    let text = judge(&arguments(&words), &host(2), &runs).to_string();
    assert!(
        text.contains("own limit, fail: four processors on fewer cores"),
        "{text}"
    );
}

#[test]
fn work_that_each_worker_has_for_itself_is_counted_by_the_worker() {
    let runs = boots(System::Capos, 5, 1_050_000, 1_000_000);
    assert_eq!(own(&["--workload", "nops"], &runs), Verdict::Pass);
    let runs = boots(System::Capos, 5, 1_150_000, 1_000_000);
    assert_eq!(own(&["--workload", "nops"], &runs), Verdict::Fail);
    assert_eq!(own(&["--workload", "pairs"], &runs), Verdict::Pass);
}
