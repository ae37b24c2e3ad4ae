//! What the ledger of a run has to hold: counted by kind, and compared as a whole. A row too many is as
//! wrong as a row too few, so there is no "at least".

use bailiwick_event::{Act, Event, Verdict};
use bailiwick_ledger::{Filter, Sessions, StateDir};
use std::collections::BTreeMap;
use std::path::Path;

/// Requests and connections that were allowed.
pub(crate) const REQUESTS: &str = "requests allowed";
/// Answers that came whole, with status 200.
pub(crate) const ANSWERS: &str = "answers with 200";
/// Connections.
pub(crate) const CONNECTIONS: &str = "connections";
/// Connections whose TLS the gate looked into.
pub(crate) const INSPECTED: &str = "TLS looked into";
/// Questions for names that were answered.
pub(crate) const NAMES: &str = "names allowed";

/// Requests that a rule refused.
pub(crate) fn requests_refused(rule: &str) -> String {
    format!("requests refused by {rule}")
}

/// Questions for names that a rule refused.
pub(crate) fn names_refused(rule: &str) -> String {
    format!("names refused by {rule}")
}

/// Commands that were to enter and that a rule refused.
pub(crate) fn commands_refused(rule: &str) -> String {
    format!("commands refused by {rule}")
}

/// How many rows there are of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Tally(pub BTreeMap<String, u64>);

impl Tally {
    /// So many more of a kind.
    pub(crate) fn add(&mut self, kind: &str, count: u64) {
        if count > 0 {
            *self.0.entry(kind.to_owned()).or_default() += count;
        }
    }

    /// How many there are of a kind.
    pub(crate) fn of(&self, kind: &str) -> u64 {
        self.0.get(kind).copied().unwrap_or(0)
    }

    /// Counts an event; the session's own and its command's are not counted.
    fn count(&mut self, event: &Event) {
        let refused = event.decision.verdict == Verdict::Deny;
        let rule = event.decision.rule.id.as_str();
        let kind = match &event.act {
            Act::SessionStart { .. }
            | Act::SessionEnd { .. }
            | Act::Rules { .. }
            | Act::ExecStart { .. }
            | Act::Executed { .. }
            | Act::Saved { .. }
            | Act::GoesOn { .. }
            | Act::Caller { .. }
            | Act::ExecExit { .. } => return,
            Act::Http { .. } if refused => requests_refused(rule),
            Act::Http { .. } => REQUESTS.to_owned(),
            Act::HttpResponse {
                status: 200,
                problem: None,
                ..
            } => ANSWERS.to_owned(),
            Act::HttpResponse { status, .. } => format!("answers with {status}, or not whole"),
            Act::Dns { .. } if refused => names_refused(rule),
            Act::Dns { .. } => NAMES.to_owned(),
            Act::Enter { .. } if refused => commands_refused(rule),
            Act::Enter { .. } => "commands entered".to_owned(),
            Act::Leave { .. } => "commands left".to_owned(),
            Act::Connect { .. } if !refused => CONNECTIONS.to_owned(),
            Act::Tls {
                inspected: true, ..
            } if !refused => INSPECTED.to_owned(),
            Act::Overflow { lost } => return self.add("rows lost", *lost),
            act => format!("other: {}", act.resource()),
        };
        self.add(&kind, 1);
    }

    /// Counts the rows of a run that has ended.
    pub(crate) fn of_run(state: &Path, name: &str) -> Result<Self, String> {
        let read = || {
            let state = StateDir::at(state.join("bailiwick"))?;
            let sessions = Sessions::open(&state);
            let reader = sessions.reader(&sessions.find(name)?.id)?;
            reader.events(&Filter::default())
        };
        let events: Vec<Event> = read()
            .map_err(|error: bailiwick_ledger::LedgerError| format!("the ledger: {error}"))?;
        let mut tally = Self::default();
        events.iter().for_each(|event| tally.count(event));
        Ok(tally)
    }

    /// Nothing, where `found` is exactly this; else every kind that differs.
    pub(crate) fn differs(&self, found: &Self) -> Option<String> {
        let kinds = self.0.keys().chain(found.0.keys());
        let mut wrong: Vec<String> = kinds
            .filter(|kind| self.of(kind) != found.of(kind))
            .map(|kind| format!("{kind}: {} instead of {}", found.of(kind), self.of(kind)))
            .collect();
        wrong.sort();
        wrong.dedup();
        wrong.truncate(8);
        (!wrong.is_empty()).then(|| wrong.join("; "))
    }
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
