//! `bailiwick apply --undo`: the workspace gets back what the last apply of a session changed.

use super::bring::{send, update};
use super::journal::Journal;
use super::repositories::keep_objects;
use super::{fault, report};
use crate::Done;
use crate::output;
use bailiwick_policy::Effective;
use bailiwick_transfer::{Listing, What};
use bailiwick_vm::{Applier, BASE};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Undoes the last apply of the session in this folder.
pub(super) fn undo(folder: &Path, policy: &Effective, private: &Path, dry_run: bool) -> Done {
    let journal = Journal::last(folder)?;
    let (now, mut changes) = journal.back()?;
    let base = folder.join(BASE);
    let before = File::open(&base).and_then(|file| Listing::read(BufReader::new(file)));
    let before = before.map_err(fault)?;
    keep_objects(&mut changes, &before, &now);
    if dry_run {
        output::print(&report::listed(&changes))?;
        return Ok(0);
    }
    let (entries, unpacking) = Applier::begin(policy, private)?.ready()?;
    let had = journal.had()?;
    // As much as was there.
    let most = had.metadata().map_err(fault)?.len();
    send(&now, changes.clone(), most, had, entries).map_err(fault)?;
    let outcomes = unpacking.outcomes()?;
    let then = journal.base()?;
    let done = outcomes.iter().filter(|outcome| outcome.what == What::Done);
    let done = done.map(|outcome| (&outcome.path, then.0.get(&outcome.path)));
    update(before, &base, done)?;
    let code = report::outcomes(&outcomes, &changes, policy)?;
    // What was changed here since stays, and can be tried again once that is away.
    if outcomes.iter().any(|outcome| outcome.what == What::Done) {
        journal.undone()?;
    }
    Ok(code)
}
