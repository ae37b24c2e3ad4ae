//! `bailiwick rules explain`.

use super::files::RuleFile;
use super::recorded::with_event;
use crate::{Done, output};
use bailiwick_event::Failure;
use bailiwick_event::fields::Subject;
use bailiwick_rules::{Compiled, Outcome, Program, backtest};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// Shows what each part of a rule's condition says about an event.
pub(super) fn explain(rule: &OsStr, event: &str) -> Done {
    let rule = find(rule)?;
    with_event(event, rule.rule().on, &mut |subject| {
        output::print(&explanation(&rule, subject))
    })?;
    Ok(0)
}

fn explanation(rule: &Compiled, subject: &Subject<'_>) -> String {
    let (id, origin, on) = (&rule.rule().id, &rule.rule().origin, rule.rule().on);
    if subject.event_type != on {
        return format!(
            "{id} ({origin}) is about {on} events and is not asked: this is {}\n",
            subject.event_type
        );
    }
    let outcome = match rule.run(subject) {
        Outcome::True => "true",
        Outcome::False => "false",
        Outcome::Failed => match rule
            .rule()
            .effect
            .action()
            .is_some_and(|a| a.fails_closed())
        {
            true => "without a value, so that the event is refused",
            false => "without a value, which counts as false",
        },
    };
    let shown = steps(rule.program(), subject, "  ");
    format!("{id} ({origin}) is {outcome}\n{shown}")
}

/// Every part of a condition with its value, in lines that begin so.
pub(super) fn steps(program: &Program, subject: &Subject<'_>, begin: &str) -> String {
    let line = |step: &backtest::Step| {
        let indent = "  ".repeat(step.depth);
        match &step.value {
            Ok(value) => format!("{begin}{indent}{}  is  {value}\n", step.text),
            Err(why) => format!("{begin}{indent}{}  has no value: {why}\n", step.text),
        }
    };
    backtest::explain(program, subject)
        .iter()
        .map(line)
        .collect()
}

/// The rule that `FILE#RULE` names.
fn find(name: &OsStr) -> Result<Arc<Compiled>, Failure> {
    let bytes = name.as_bytes();
    let whole = Path::new(name);
    let (path, id) = match bytes.iter().rposition(|b| *b == b'#') {
        Some(at) if !whole.exists() => {
            let id = String::from_utf8_lossy(&bytes[at + 1..]).into_owned();
            (Path::new(OsStr::from_bytes(&bytes[..at])), Some(id))
        }
        _ => (whole, None),
    };
    let file = RuleFile::read(path)?;
    let mut found = file
        .rules
        .iter()
        .filter(|rule| id.as_ref().is_none_or(|id| rule.rule().id == *id));
    match (found.next(), found.next()) {
        (Some(rule), None) => Ok(Arc::clone(rule)),
        _ => {
            let names: Vec<_> = file.rules.iter().map(|rule| &*rule.rule().id).collect();
            let skipped: String = file.skipped.iter().map(|s| format!("\n{s}")).collect();
            Err(Failure::usage(format!(
                "name one rule of {}: write FILE#RULE with one of {}{skipped}",
                file.name,
                names.join(", ")
            )))
        }
    }
}
