//! `bailiwick apply --undo`: the workspace gets back what the last apply of a session changed.

use super::bring::{send, update};
use super::journal::{Journal, read_listing};
use super::report::Direction;
use super::repositories::{keep_objects, repositories};
use super::{fault, report};
use crate::Done;
use crate::output;
use bailiwick_policy::Effective;
use bailiwick_transfer::{Outcome, What};
use bailiwick_vm::{Applier, BASE};
use std::path::Path;

/// Undoes the last apply of the session in this folder.
pub(super) fn undo(folder: &Path, policy: &Effective, private: &Path, dry_run: bool) -> Done {
    let journal = Journal::last(folder)?;
    let (now, mut changes) = journal.back()?;
    let base = folder.join(BASE);
    let before = read_listing(&base).map_err(fault)?;
    keep_objects(&mut changes, &repositories(&before, &now));
    if dry_run {
        output::print(&report::listed(&changes))?;
        return Ok(0);
    }
    let (entries, unpacking) = Applier::begin(policy, private)?.ready()?;
    let had = journal.had()?;
    // As much as was there.
    let most = had.metadata().map_err(fault)?.len();
    let (_, whole) = send(&now, changes.clone(), most, had, entries);
    whole.map_err(fault)?;
    let outcomes = unpacking.outcomes()?;
    let then = journal.base()?;
    let done = outcomes.iter().filter(|outcome| outcome.what == What::Done);
    let done = done.map(|outcome| (&outcome.path, then.0.get(&outcome.path)));
    update(before, &base, done)?;
    let code = report::outcomes(&outcomes, &changes, policy, Direction::Back)?;
    // What was changed here since stays; what could not be written can be tried again, and so can an undo that did
    // nothing.
    let is_left = |outcome: &Outcome| matches!(outcome.what, What::Refused(_) | What::Unread(_));
    let did = |outcome: &Outcome| outcome.what == What::Done;
    let is_undone = outcomes.is_empty() || outcomes.iter().any(did);
    if outcomes.iter().any(is_left) || !is_undone {
        output::note(
            "what is not written is still kept: `apply --undo` tries it again, and `apply --undo --give-up` leaves \
             it, for the apply before",
        );
        return Ok(code);
    }
    journal.undone()?;
    Ok(code)
}

/// Counts the last apply of the session in this folder as undone: those before it can be undone then.
pub(super) fn give_up(folder: &Path) -> Done {
    Journal::last(folder)?.undone()?;
    output::print("the last apply stays as it is; `apply --undo` undoes the one before\n")?;
    Ok(0)
}
