//! Which rows and limits of the suite are run. A name that means nothing is a mistake and not an
//! empty result: who misspells a row must not take its absence for a pass.

use crate::crowd::CROWD;
use crate::limit;
use crate::workload::Workload;
use bailiwick_event::{Failure, Text};

/// Parts of names; none means everything.
pub(crate) struct Selection<'a>(&'a [String]);

impl<'a> Selection<'a> {
    pub(crate) fn new(parts: &'a [String]) -> Self {
        Self(parts)
    }

    /// Whether a row or limit of this name is run.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|part| name.contains(part.as_str()))
    }

    /// The rows that are run.
    ///
    /// # Errors
    /// [`Failure::Usage`] when a part is in no name.
    pub(crate) fn of(&self, mut rows: Vec<Workload>) -> Result<Vec<Workload>, Failure> {
        let mut names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        names.extend([limit::MEMORY, limit::VERSION, CROWD]);
        let unknown = |part: &&String| !names.iter().any(|name| name.contains(part.as_str()));
        if let Some(part) = self.0.iter().find(unknown) {
            return Err(Failure::usage(format!(
                "--row: no row of this run has \"{}\" in its name; it has: {}",
                Text::from(part.as_str()),
                names.join("; ")
            )));
        }
        rows.retain(|row| self.has(&row.name));
        Ok(rows)
    }
}
