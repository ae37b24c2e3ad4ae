//! `bailiwick rules backtest`.

use super::arguments::{BacktestArguments, ReportArguments};
use super::{files, recorded, report};
use crate::{Done, output};
use bailiwick_rules::backtest::{Backtest, Options};
use std::time::{SystemTime, UNIX_EPOCH};

/// Asks what rules would have done about recorded events.
pub(super) fn backtest(arguments: &BacktestArguments) -> Done {
    let rules = files::all(&arguments.files.files)?;
    let options = options(&arguments.report);
    let silent = rules
        .iter()
        .filter(|rule| !rule.rule().enabled || rule.rule().is_over(options.now))
        .count();
    if silent > 0 {
        output::note(&format!(
            "{} not asked: not enabled, or over",
            files::count(silent as u64, "rule")
        ));
    }
    let mut backtest = Backtest::rules(&rules, options);
    recorded::ask(&mut backtest, &arguments.corpus)?;
    report::print(&backtest.report(), arguments.report.json)
}

/// How the rules are asked.
pub(super) fn options(arguments: &ReportArguments) -> Options {
    Options {
        limit: arguments.limit as usize,
        threads: std::thread::available_parallelism().map_or(2, |n| n.get().min(16)),
        keep_going: arguments.keep_going,
        now: now(),
    }
}

/// The time in seconds since the Unix epoch.
pub(super) fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs().cast_signed())
}
