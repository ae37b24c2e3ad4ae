//! What is said of an apply.

use super::doubt::Doubt;
use crate::Done;
use crate::output;
use crate::selection::time;
use bailiwick_event::Text;
use bailiwick_ledger::SessionInfo;
use bailiwick_policy::Effective;
use bailiwick_transfer::{Change, Changes, Outcome, What};
use bailiwick_vm::DiskState;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::time::UNIX_EPOCH;

/// Which way files went.
#[derive(Clone, Copy)]
pub(super) enum Direction {
    /// From a session's disk to the workspace.
    Forward,
    /// From what an apply has kept.
    Back,
}

fn letter(change: Change) -> char {
    match change {
        Change::Added => 'A',
        Change::Changed => 'M',
        Change::Gone => 'D',
    }
}

fn shown(path: &[u8]) -> Text {
    match path {
        b"" => Text::from("."),
        path => Text::from(OsStr::from_bytes(path)),
    }
}

/// A line for each change.
pub(super) fn listed(changes: &Changes) -> String {
    let line =
        |(path, change): (&Vec<u8>, &Change)| format!("{} {}\n", letter(*change), shown(path));
    changes.iter().map(line).collect()
}

/// Says what became of each change.
pub(super) fn outcomes(
    outcomes: &[Outcome],
    changes: &Changes,
    policy: &Effective,
    direction: Direction,
) -> Done {
    let mut text = String::new();
    let (mut conflicts, mut refused) = (0, 0);
    let mut sorted: Vec<&Outcome> = outcomes.iter().collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    for outcome in sorted {
        let path = shown(&outcome.path);
        let change = changes.get(&outcome.path).copied();
        let letter = change.map_or('?', letter);
        match outcome.what {
            What::Done => text += &format!("{letter} {path}\n"),
            What::Conflict => {
                conflicts += 1;
                output::note(&format!(
                    "{letter} {path}: left as it is: it was changed here since {}",
                    match direction {
                        Direction::Forward => "the session began",
                        Direction::Back => "that was applied",
                    }
                ));
            }
            What::Unread(errno) => {
                refused += 1;
                let error = io::Error::from_raw_os_error(errno);
                output::note(&format!(
                    "{letter} {path}: not read in the session: {error}"
                ));
            }
            What::Refused(errno) => {
                refused += 1;
                let error = io::Error::from_raw_os_error(errno);
                let full = policy.workspace.join(OsStr::from_bytes(&outcome.path));
                let why = policy.explain_path(&full);
                output::note(&format!(
                    "{letter} {path}: not written: {error} ({} by {})",
                    why.access.name(),
                    why.rule
                ));
            }
        }
    }
    output::print(&text)?;
    if refused > 0 && matches!(direction, Direction::Forward) {
        output::note(
            "what is not written is still on the session's disk: `bailiwick cp` brings single files",
        );
    }
    Ok(match (refused, conflicts) {
        (0, 0) => 0,
        (0, _) => 1,
        _ => 126,
    })
}

/// Says what was left because it could be a loss, and how to get at it.
pub(super) fn doubts(doubted: &[(Vec<u8>, Change, Doubt)], info: &SessionInfo, state: DiskState) {
    let DiskState::Open { synced } = state else {
        return;
    };
    for (path, change, doubt) in doubted {
        let (letter, path) = (letter(*change), shown(path));
        output::note(&format!("{letter} {path}: left as it is: {}", doubt.text()));
    }
    let since = match synced {
        Some(at) => {
            let at = at.duration_since(UNIX_EPOCH).unwrap_or_default();
            let at = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
            format!("what was written after {} may be missing", time(at))
        }
        None => "what was written last may be missing".to_owned(),
    };
    let id = &info.id;
    let why = format!("the session's machine was ended before everything was on its disk: {since}");
    let there = doubted
        .iter()
        .find(|(_, change, _)| *change != Change::Gone);
    let look = there.map(|(path, ..)| {
        format!(
            "`bailiwick cp {id}:{} /tmp` copies one from the disk, to be looked at; ",
            shown(path)
        )
    });
    match doubted {
        [] => output::note(&why),
        _ => output::note(&format!(
            "{why}\nhelp: {}`bailiwick apply --force=PATH {id}` brings one all the same",
            look.unwrap_or_default()
        )),
    }
}
