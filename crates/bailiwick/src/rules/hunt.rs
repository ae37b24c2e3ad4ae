//! `bailiwick rules hunt`.

use super::arguments::HuntArguments;
use super::backtest::options;
use super::{recorded, report};
use crate::Done;
use bailiwick_event::Failure;
use bailiwick_rules::CompileError;
use bailiwick_rules::backtest::Backtest;

/// Finds the recorded events that a condition is true of.
pub(super) fn hunt(arguments: &HuntArguments) -> Done {
    let condition = &arguments.condition;
    let mut hunt = Backtest::hunt(condition, options(&arguments.report))
        .map_err(|error| placed(condition, &error))?;
    recorded::ask(&mut hunt, &arguments.corpus)?;
    report::print(&hunt.report(), arguments.report.json)
}

/// What is wrong with a condition, each mistake with its place.
fn placed(condition: &str, error: &CompileError) -> Failure {
    let one = |mistake: &bailiwick_rules::expr::SyntaxError| {
        let before = condition.get(..mistake.span.range().start);
        let before = before.unwrap_or(condition);
        let line = 1 + before.matches('\n').count();
        let column = 1 + before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count();
        format!("condition:{line}:{column}: {mistake}")
    };
    let all: Vec<_> = error.0.iter().map(one).collect();
    Failure::usage(all.join("\n"))
}
