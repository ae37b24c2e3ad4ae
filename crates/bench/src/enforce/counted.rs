//! The rule that is added, and the four counts: the programs', the rule's own, the ledger's, the log's.

use crate::gate::row::Draft;
use crate::gate::site::{RULE, Site};
use crate::gate::tally::Tally;
use crate::verdict::Verdict;
use bailiwick_event::{Boundary, Event};
use serde::Deserialize;

/// The file that the rule stands in, as the ledger has to name it.
const FILE: &str = "refusal.toml";

/// What `rules list --json` says, as far as it is read here.
#[derive(Deserialize)]
struct Listed {
    rule: Named,
    matched: u64,
    failed: u64,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

/// Adds a rule to a run: `bailiwick rules add --session RUN FILE`.
pub(super) fn add_rule(site: &Site, run: &str, on: &str, when: &str) -> Result<(), Verdict> {
    let text = format!(
        "schema = 1\nid = \"bench\"\nversion = \"1.0.0\"\nstatus = \"stable\"\nowner = \"bench\"\n\n\
         [[rules]]\nid = \"{RULE}\"\non = \"{on}\"\naction = \"deny\"\nwhen = '{when}'\n\
         reason = \"the benchmark asks for it\"\nremedy = \"none is needed\"\n"
    );
    let file = site.fixture.policies().join(FILE);
    std::fs::write(&file, text).map_err(|e| Verdict::Inconclusive(e.to_string()))?;
    let file = file.to_string_lossy();
    said(site, &["rules", "add", "--session", run, &file]).map(drop)
}

/// What a command of the product prints.
fn said(site: &Site, words: &[&str]) -> Result<String, Verdict> {
    let fail = |why: String| Verdict::Fail(format!("bailiwick {}: {why}", words.join(" ")));
    let sample = site.product(words).map_err(fail)?;
    match sample.code {
        Some(0) => Ok(sample.stdout.to_string_lossy()),
        _ => Err(fail(sample.ending())),
    }
}

/// How often the rule of a run that goes on was true.
pub(super) fn matched(site: &Site, run: &str) -> Result<u64, Verdict> {
    let text = said(site, &["rules", "list", "--json", "--session", run])?;
    let listed: Vec<Listed> = serde_json::from_str(&text)
        .map_err(|error| Verdict::Fail(format!("rules list: {error}")))?;
    match listed.as_slice() {
        [only] if only.rule.id == RULE && only.failed == 0 => Ok(only.matched),
        _ => Err(Verdict::Fail(
            "the run has other rules than the one that was added".to_owned(),
        )),
    }
}

/// Rows and lines of a run that has ended: of `log --json` those that name the rule and the file that
/// it came from, and of `log` those of refusals.
fn recorded(site: &Site, run: &str, boundary: Boundary) -> Result<(u64, u64), Verdict> {
    let boundary = boundary.to_string();
    let words = ["log", run, "--denied", "--boundary", &boundary];
    let json = said(site, &[&words[..], &["--json"]].concat())?;
    let mut rows = 0;
    for line in json.lines() {
        let event: Event = serde_json::from_str(line)
            .map_err(|error| Verdict::Fail(format!("log --json: {error}")))?;
        let rule = &event.decision.rule;
        if rule.id == RULE && rule.origin.to_string().contains(FILE) {
            rows += 1;
        }
    }
    Ok((rows, lines(&said(site, &words)?)))
}

/// Lines of the log's table that say that the rule refused something.
fn lines(table: &str) -> u64 {
    let named = format!(" {RULE} (");
    let refusal = |line: &&str| line.contains(" deny ") && line.contains(&named);
    table.lines().filter(refusal).count() as u64
}

/// Compares the four counts with what they all must be.
pub(super) fn compare(
    site: &Site,
    draft: &mut Draft,
    run: &str,
    boundary: Boundary,
    (expected, matched): (u64, u64),
) -> Result<(), Verdict> {
    let (rows, lines) = recorded(site, run, boundary)?;
    let mut tally = Tally::default();
    for (what, count) in [
        ("refused, as the programs saw it", expected),
        ("times that the rule was true", matched),
        ("rows of the ledger with the rule and its file", rows),
        ("lines of the log", lines),
    ] {
        tally.add(what, count);
    }
    draft.counted.insert("counts".to_owned(), tally);
    match [matched, rows, lines] == [expected; 3] {
        true => Ok(()),
        false => Err(Verdict::Fail(format!(
            "{expected} were refused, the rule counts {matched}, the ledger {rows}, the log {lines}"
        ))),
    }
}

#[cfg(test)]
#[path = "counted_tests.rs"]
mod tests;
