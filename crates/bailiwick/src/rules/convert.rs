//! `bailiwick rules convert`.

use super::files::sigma;
use crate::{Done, output};
use bailiwick_event::Failure;
use bailiwick_rules::sigma::Reason;
use std::path::Path;

/// Prints the pack that a file of Sigma rules becomes.
pub(super) fn convert(path: &Path) -> Done {
    let (name, imported) = sigma(path)?;
    let broken = imported.rules.iter().filter_map(|rule| rule.as_ref().err());
    for skipped in broken {
        if matches!(skipped.reason, Reason::Yaml(_)) {
            return Err(Failure::usage(format!("{name}:{skipped}")));
        }
    }
    for skipped in imported.rules.iter().filter_map(|rule| rule.as_ref().err()) {
        output::note(&format!("{name}:{skipped}"));
    }
    output::print(&imported.to_toml())?;
    Ok(0)
}
