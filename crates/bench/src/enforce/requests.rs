//! `bench enforce http`.

use super::counted::{add_rule, compare, matched};
use crate::gate::NAME;
use crate::gate::record::limit;
use crate::gate::requests::is_refusal;
use crate::gate::row::{Draft, Row};
use crate::gate::side::Side;
use crate::gate::site::{REFUSED_PATH, RULE, Site};
use crate::gate::tally::{CONNECTIONS, INSPECTED, NAMES, requests_refused};
use crate::load::job::{Job, What};
use crate::load::page::PAGE_PATH;
use crate::program;
use crate::statistics::median;
use crate::verdict::Verdict;
use bailiwick_event::Boundary;

/// Requests on one connection: enough for a 99th percentile.
const KEPT: u32 = 200;
const QUICK_KEPT: u32 = 8;
/// What curl says about its phases, and in which order.
const PHASES: [&str; 6] = [
    "namelookup",
    "connect",
    "appconnect",
    "pretransfer",
    "starttransfer",
    "total",
];
const AFTER: &str = "after pretransfer";
const WALL: &str = "wall, fresh curl";

/// Requests that are refused.
pub(super) fn row(runs: u32) -> Row {
    Row {
        name: "enforce http".to_owned(),
        workload: format!(
            "one curl that warms up, {runs} fresh ones, and {KEPT} ({QUICK_KEPT} when quick) requests \
             on one kept-alive connection, all refused by a rule that was added to the run"
        ),
        includes: "wall: fork, exec, the look-up of the name, TCP, TLS, the refusal, exit; phases: \
                   curl's own, from its start; kept alive: from the request to the last byte",
        verifier: "before the rule the page comes; each answer is the refusal by the rule, with status \
                   403; the rule's counter, the ledger's rows with rule and file, and the log's lines \
                   are exactly as many; the ledger has no other row, and the server saw one request",
        long: false,
        least: 8,
        measure: Box::new(move |site, draft| measure(site, draft, runs)),
    }
}

fn measure(site: &Site, draft: &mut Draft, runs: u32) -> Result<(), Verdict> {
    let curl =
        program::find("curl").ok_or_else(|| Verdict::Absent("curl is not installed".to_owned()))?;
    let mut side = Side::through(site)?;
    let what = |path: &str, count, rule: Option<&str>| What {
        path: path.to_owned(),
        count,
        refused_by: rule.map(str::to_owned),
    };
    side.ask(&Job::Connections {
        target: side.target(),
        what: what(PAGE_PATH, 1, None),
    })?;
    let run = side.run().to_owned();
    let when = format!("http.request.path == \"{REFUSED_PATH}\"");
    add_rule(site, &run, "http.request", &when)?;
    for n in 0..=runs {
        draft.settle();
        let argv = argv(site, &curl.path.to_string_lossy());
        let report = side.ask(&Job::Command { argv })?;
        let phases = phases(&report.errors);
        let Some(phases) = phases.filter(|_| report.code == Some(0) && is_refusal(&report.text))
        else {
            let said = [report.text, report.errors].concat();
            return Err(Verdict::Fail(format!("curl said {said:?}")));
        };
        if n > 0 {
            draft.add(WALL, "ms", report.samples.iter().map(|ns| *ns as f64 / 1e6));
            for (name, ms) in PHASES.into_iter().zip(phases) {
                draft.add(name, "ms", [ms]);
            }
            draft.add(AFTER, "ms", [phases[5] - phases[3]]);
        }
    }
    side.expected
        .add(&requests_refused(RULE), u64::from(runs) + 1);
    side.expected.add(CONNECTIONS, u64::from(runs) + 1);
    side.expected.add(INSPECTED, u64::from(runs) + 1);
    side.expected.add(NAMES, u64::from(runs) + 1);
    draft.settle();
    let kept = if site.quick { QUICK_KEPT } else { KEPT };
    let report = side.ask(&Job::Requests {
        target: side.target(),
        // The first of them is no sample.
        what: what(REFUSED_PATH, kept - 1, Some(RULE)),
    })?;
    draft.add_us("kept alive", &report.samples);
    let expected = u64::from(runs + 1 + kept);
    let matched = matched(site, &run)?;
    draft.close(site, vec![side])?;
    compare(site, draft, &run, Boundary::Http, (expected, matched))?;
    let reference = "the median; the reference's own, from inside its micro-VM on another machine";
    for (series, bound) in [(WALL, 18.751), (AFTER, 1.0)] {
        let name = format!("enforce http: {series}");
        let value = median(draft.of(series));
        draft
            .limits
            .push(limit(&name, reference, "ms", bound, value));
    }
    Ok(())
}

fn argv(site: &Site, curl: &str) -> Vec<String> {
    let format = PHASES.map(|phase| format!("%{{time_{phase}}} ")).concat();
    let format = format!("%{{stderr}}{format}%{{http_code}} %{{num_connects}}");
    let words = [
        "-sS",
        "-4",
        "--noproxy",
        "*",
        "--cacert",
        &site.roots(),
        "-w",
        &format,
    ];
    let url = format!("https://{NAME}{REFUSED_PATH}");
    [&[curl], &words[..], &[&url]]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// Curl's phases in milliseconds; none where the answer was not a 403 on one new connection.
fn phases(said: &str) -> Option<[f64; 6]> {
    let words: Vec<&str> = said.split_ascii_whitespace().collect();
    let (times, rest) = words.split_at_checked(6)?;
    let mut phases = [0.0; 6];
    for (phase, time) in phases.iter_mut().zip(times) {
        *phase = time.parse::<f64>().ok()? * 1000.0;
    }
    (rest == ["403", "1"]).then_some(phases)
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
