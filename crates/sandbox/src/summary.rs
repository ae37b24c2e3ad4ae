//! The last line of a run: what was refused, by which line of which policy. A person who sees a
//! program fail must see in the same place whether the sandbox was the reason.

use bailiwick_event::json::of;
use bailiwick_event::{Event, RuleRef, SessionId};
use bailiwick_ledger::Counts;

/// One line, or nothing where nothing was refused; `stopped` is the rule that ended the session.
pub(crate) fn line(
    id: &SessionId,
    refusals: u64,
    last: Option<&Event>,
    stopped: Option<&RuleRef>,
) -> Option<String> {
    let last = last?;
    let ended = stopped.map_or_else(String::new, |rule| format!("{rule} ended the session; "));
    Some(format!(
        "bailiwick: {ended}{} refused; last: {} {}, by {}; remedy: {}; see `bailiwick log --denied {id}`",
        refusals,
        last.boundary(),
        last.act.resource(),
        last.decision.rule,
        last.decision.remedy,
    ))
}

/// The same for programs.
pub(crate) fn json(
    id: &SessionId,
    code: u8,
    counts: &Counts,
    last: Option<&Event>,
    stopped: Option<&RuleRef>,
) -> String {
    of(&serde_json::json!({
        "session": id.as_str(),
        "exit_code": code,
        "rows": counts.rows,
        "refused": counts.refusals,
        "last_refusal": last,
        "stopped_by": stopped,
    }))
}
