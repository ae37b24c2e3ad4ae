//! `bailiwick rules test`.

use super::explain::steps;
use super::files::{RuleFile, count};
use crate::{Done, output};
use bailiwick_event::Failure;
use bailiwick_rules::{Compiled, Outcome};
use std::path::PathBuf;

/// Runs the examples of every rule.
pub(super) fn test(files: &[PathBuf]) -> Done {
    let mut code = 0;
    for path in files {
        let file = RuleFile::read(path)?;
        file.skipped.iter().for_each(|line| output::note(line));
        let (mut run, mut failed, mut without) = (0, 0, 0);
        for rule in &file.rules {
            without += u64::from(rule.rule().examples.is_empty());
            for at in 0..rule.rule().examples.len() {
                run += 1;
                if let Some(text) = failure(rule, at)? {
                    failed += 1;
                    output::print(&text)?;
                }
            }
        }
        let mut text = format!("{}: {}", file.name, count(run, "example"));
        text += &match failed {
            0 => ", all as the rules say".to_owned(),
            failed => format!(", {failed} not as the rule says"),
        };
        if without > 0 {
            text += &format!("; {} without an example", count(without, "rule"));
        }
        output::print(&format!("{text}\n"))?;
        code |= u8::from(failed > 0);
    }
    Ok(code)
}

/// What is told of an example that is not as its rule says; none where it is.
fn failure(rule: &Compiled, at: usize) -> Result<Option<String>, Failure> {
    let example = &rule.rule().examples[at];
    let record = example
        .record()
        .map_err(|error| Failure::usage(format!("{}: {error}", rule.rule().origin)))?;
    let subject = record.subject();
    let asked = subject.event_type == rule.rule().on;
    let outcome = match asked {
        true => rule.run(&subject),
        false => Outcome::False,
    };
    if (outcome == Outcome::True) == example.matches {
        return Ok(None);
    }
    let wrong = match (example.matches, outcome) {
        (true, Outcome::Failed) => "must match, and its condition has no value",
        (true, _) => "must match, and does not",
        (false, _) => "must not match, and does",
    };
    let shown = match asked {
        true => steps(rule.program(), &subject, "    "),
        false => format!(
            "    the rule is about {} events, and this is {}\n",
            rule.rule().on,
            subject.event_type
        ),
    };
    let (number, id) = (at + 1, &rule.rule().id);
    Ok(Some(format!(
        "{}: {id}: example {number} {wrong}\n  event: {}\n{shown}",
        rule.rule().origin,
        example.event
    )))
}
