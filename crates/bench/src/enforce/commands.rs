//! `bench enforce exec`.

use super::counted::{add_rule, compare, matched};
use crate::gate::record::limit;
use crate::gate::row::{Draft, Row};
use crate::gate::side::Side;
use crate::gate::site::{RULE, Site};
use crate::gate::tally::commands_refused;
use crate::statistics::median;
use crate::verdict::Verdict;
use bailiwick_event::Boundary;

/// The word that the rule is about.
const WORD: &str = "bench-refused-word";
const WALL: &str = "refused, bailiwick exec";
const ALLOWED: &str = "allowed, bailiwick exec";

/// Commands that are refused.
pub(super) fn row(runs: u32) -> Row {
    Row {
        name: "enforce exec".to_owned(),
        workload: format!(
            "bailiwick exec of echo with a word: one that warms up and {runs} more, refused by a rule \
             that was added to the run; in turn with the same of another word, which is not refused"
        ),
        includes: "fork and exec of bailiwick, the way into the run, the refusal with its text, exit; \
                   allowed: also echo itself",
        verifier: "before the rule the command runs; each refused one ends with code 126, prints \
                   nothing, and names the rule; the rule's counter, the ledger's rows with rule and \
                   file, and the log's lines are exactly as many; the ledger has no other row",
        long: false,
        least: 8,
        measure: Box::new(move |site, draft| measure(site, draft, runs)),
    }
}

fn measure(site: &Site, draft: &mut Draft, runs: u32) -> Result<(), Verdict> {
    let mut side = Side::through(site)?;
    let run = side.run().to_owned();
    // Its answer says that the run has begun.
    side.ask(&crate::load::job::Job::Read {
        path: "/proc/self/comm".into(),
    })?;
    allowed(site, &run, WORD)?;
    let when = format!("process.exec.argv.exists(a, a == \"{WORD}\")");
    add_rule(site, &run, "process.exec", &when)?;
    for n in 0..=runs {
        draft.settle();
        let other = allowed(site, &run, "other")?;
        draft.settle();
        let took = refused(site, &run)?;
        if n > 0 {
            draft.add(ALLOWED, "ms", [other]);
            draft.add(WALL, "ms", [took]);
        }
    }
    let expected = u64::from(runs) + 1;
    side.expected.add(&commands_refused(RULE), expected);
    side.expected.add("commands entered", expected + 1);
    // Also one that is refused leaves: with the code that it ends with.
    side.expected.add("commands left", 2 * expected + 1);
    let matched = matched(site, &run)?;
    draft.close(site, vec![side])?;
    compare(site, draft, &run, Boundary::Exec, (expected, matched))?;
    let reference = "the median; the reference's own, through its API on another machine";
    let value = median(draft.of(WALL));
    draft.limits.push(limit(
        "enforce exec: refused",
        reference,
        "ms",
        14.329,
        value,
    ));
    Ok(())
}

/// A command that enters; its time in milliseconds.
fn allowed(site: &Site, run: &str, word: &str) -> Result<f64, Verdict> {
    let sample = site
        .product(&["exec", run, "--", "echo", word])
        .map_err(Verdict::Fail)?;
    let said = sample.stdout.to_string_lossy();
    match sample.code == Some(0) && said == format!("{word}\n") {
        true => Ok(sample.ns as f64 / 1e6),
        false => Err(Verdict::Fail(format!("the control: {}", sample.ending()))),
    }
}

/// One that the rule keeps out.
fn refused(site: &Site, run: &str) -> Result<f64, Verdict> {
    let sample = site
        .product(&["exec", run, "--", "echo", WORD])
        .map_err(Verdict::Fail)?;
    let named = sample
        .stderr
        .to_string_lossy()
        .contains(&format!("{RULE} ("));
    match sample.code == Some(126) && sample.stdout.as_bytes().is_empty() && named {
        true => Ok(sample.ns as f64 / 1e6),
        false => Err(Verdict::Fail(format!("not refused: {}", sample.ending()))),
    }
}
