//! What a backtest found.

use super::{Mistake, Row};
use crate::rule::Compiled;
use serde_json::{Value, json};
use std::sync::Arc;

/// How often a rule was true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleCount {
    /// Its name.
    pub rule: Arc<str>,
    /// The pack that it came with.
    pub pack: Option<Arc<str>>,
    /// Events that it was true of, of those that it was asked about: a rule that decides is not
    /// asked where one before it decided.
    pub matched: u64,
    /// Events for which its condition had no value.
    pub failed: u64,
}

impl RuleCount {
    pub(super) fn of(rule: &Compiled) -> Self {
        Self {
            rule: rule.rule().id.as_str().into(),
            pack: rule.rule().pack.clone(),
            matched: rule.matched(),
            failed: rule.failed(),
        }
    }
}

/// What a backtest found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What was found, one row for each signature, in the order of the first events.
    pub rows: Vec<Row>,
    /// Events that were asked.
    pub events: u64,
    /// Events that a rule was true of.
    pub matched: u64,
    /// How often a rule was true of an event that no row stands for: there is a limit of rows.
    pub truncated: u64,
    /// Lines that are no events.
    pub skipped: u64,
    /// The first of those lines.
    pub mistakes: Vec<Mistake>,
    /// Every rule.
    pub rules: Vec<RuleCount>,
}

impl Report {
    /// The report for another program.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut report = json!({
            "events": self.events,
            "matched": self.matched,
            "truncated": self.truncated,
            "skipped": self.skipped,
            "rows": self.rows.iter().map(Row::to_json).collect::<Vec<_>>(),
        });
        if !self.rules.is_empty() {
            let one = |count: &RuleCount| {
                json!({
                    "rule": &*count.rule,
                    "pack": count.pack.as_deref(),
                    "matched": count.matched,
                    "failed": count.failed,
                })
            };
            report["rules"] = self.rules.iter().map(one).collect();
        }
        report
    }
}
