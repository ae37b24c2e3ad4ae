//! `bench enforce dns`.

use super::counted::{add_rule, compare, matched};
use crate::gate::NAME;
use crate::gate::record::limit;
use crate::gate::row::{Draft, Row};
use crate::gate::side::Side;
use crate::gate::site::{RULE, Site};
use crate::gate::tally::names_refused;
use crate::load::LOOKUP;
use crate::load::job::{Job, Report, What};
use crate::load::page::PAGE_PATH;
use crate::statistics::median;
use crate::verdict::Verdict;
use bailiwick_event::Boundary;

/// Look-ups by one process: enough for a 99th percentile.
const KEPT: u32 = 200;
const QUICK_KEPT: u32 = 8;
const CALL: &str = "the call, fresh process";

/// Names that are refused.
pub(super) fn row(runs: u32) -> Row {
    Row {
        name: "enforce dns".to_owned(),
        workload: format!(
            "getaddrinfo of a name that the policy grants: one process that warms up, {runs} fresh \
             ones, and {KEPT} ({QUICK_KEPT} when quick) calls of one process, all refused by a rule \
             that was added to the run"
        ),
        includes: "the call (A and AAAA), with all that the C library does for its first one in a \
                   fresh process; wall: fork, exec, the call, exit",
        verifier: "before the rule the name is found and the page comes; each call says that there is \
                   no such name; the rule's counter, the ledger's rows with rule and file, and the \
                   log's lines are exactly two for each call; the ledger has no other row",
        long: false,
        least: 8,
        measure: Box::new(move |site, draft| measure(site, draft, runs)),
    }
}

fn measure(site: &Site, draft: &mut Draft, runs: u32) -> Result<(), Verdict> {
    let mut side = Side::through(site)?;
    side.ask(&Job::Connections {
        target: side.target(),
        what: What {
            path: PAGE_PATH.to_owned(),
            count: 1,
            refused_by: None,
        },
    })?;
    let run = side.run().to_owned();
    let when = format!("dns.request.qname == \"{NAME}\"");
    add_rule(site, &run, "dns.request", &when)?;
    let argv: Vec<String> = site
        .load(&[LOOKUP, NAME])
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    for n in 0..=runs {
        draft.settle();
        let report = side.ask(&Job::Command { argv: argv.clone() })?;
        let fail = |why: &str| Verdict::Fail(format!("the fresh process: {why}"));
        let said: Report =
            serde_json::from_str(&report.text).map_err(|error| fail(&error.to_string()))?;
        if let Some(why) = said.broken {
            return Err(fail(&why));
        }
        if n > 0 {
            draft.add(CALL, "ms", said.samples.iter().map(|ns| *ns as f64 / 1e6));
            draft.add("wall, fresh process", "ms", [report.total_ns as f64 / 1e6]);
        }
    }
    draft.settle();
    let kept = if site.quick { QUICK_KEPT } else { KEPT };
    let report = side.ask(&Job::Lookups {
        name: NAME.to_owned(),
        count: kept,
    })?;
    draft.add_us("the call, one process", &report.samples);
    let expected = 2 * u64::from(runs + 1 + kept);
    side.expected.add(&names_refused(RULE), expected);
    let matched = matched(site, &run)?;
    draft.close(site, vec![side])?;
    compare(site, draft, &run, Boundary::Dns, (expected, matched))?;
    let reference = "the median; the reference's own, from inside its micro-VM on another machine";
    let value = median(draft.of(CALL));
    draft.limits.push(limit(
        "enforce dns: the call",
        reference,
        "ms",
        1.566,
        value,
    ));
    Ok(())
}
