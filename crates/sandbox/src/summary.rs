//! The last line of a run: what was refused, by which line of which policy. A person who sees a
//! program fail must see in the same place whether the sandbox was the reason.

use bailiwick_event::json::of;
use bailiwick_event::{Act, Event, RuleRef, SessionId, Text, shell_word};
use bailiwick_ledger::Counts;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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

/// One line about what the run leaves for programs of the host, or nothing.
pub(crate) fn left(id: &SessionId, left: &[Act], workspace: &Path) -> Option<String> {
    const SHOWN: usize = 3;
    // Each file once, with everybody who obeys it.
    let mut shown: Vec<(&Text, String)> = Vec::new();
    let mut known = HashMap::new();
    for act in left {
        let Act::Left { path, tool, .. } = act else {
            continue;
        };
        let at = *known.entry(path.as_bytes()).or_insert(shown.len());
        match shown.get_mut(at) {
            Some((_, tools)) => *tools += &format!("; {tool}"),
            None => shown.push((path, tool.clone())),
        }
    }
    let files = match shown.len() {
        0 => return None,
        1 => "a file",
        _ => "files",
    };
    let more = match shown.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first = shown.iter().take(SHOWN);
    let first: Vec<_> = first
        .map(|(path, tools)| format!("{} ({tools})", name_of(path, workspace)))
        .collect();
    Some(format!(
        "bailiwick: made or changed {files} that programs outside obey: {}{more}; see `bailiwick log --handover {id}`",
        first.join(", "),
    ))
}

/// A file as a person finds it from the workspace. A name can look like what stands around it.
fn name_of(path: &Text, workspace: &Path) -> String {
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    let below = path.strip_prefix(workspace).unwrap_or(path);
    match below.to_str() {
        Some(name) => shell_word(name),
        None => format!("'{}'", Text::from(below.as_os_str())),
    }
}

/// The same for programs.
pub(crate) fn json(
    id: &SessionId,
    code: u8,
    (counts, left, told): (&Counts, usize, &[String]),
    last: Option<&Event>,
    stopped: Option<&RuleRef>,
) -> String {
    of(&serde_json::json!({
        "session": id.as_str(),
        "exit_code": code,
        "rows": counts.rows,
        "refused": counts.refusals,
        "left": left,
        "told": told,
        "last_refusal": last,
        "stopped_by": stopped,
    }))
}
