//! `bailiwick rules export`.

use crate::selection::find;
use crate::{Done, output};
use bailiwick_event::fields::Projection;
use bailiwick_ledger::Filter;

/// Bytes that are written at once.
const AT_ONCE: usize = 64 << 10;

/// Prints the events of a session that rules can be about.
pub(super) fn export(session: &str) -> Done {
    let (info, reader) = find(session)?;
    let mut lines = String::new();
    let mut failed = None;
    reader.each(&Filter::default(), |event| {
        if let Some(projection) = Projection::of_event(&event, info.id.as_str()) {
            lines += &projection.to_line();
            lines.push('\n');
        }
        if lines.len() > AT_ONCE && failed.is_none() {
            failed = output::print(&lines).err();
            lines.clear();
        }
        Ok(())
    })?;
    match failed {
        Some(failure) => Err(failure),
        None => output::print(&lines).map(|()| 0),
    }
}
