//! Another build of the product, which takes turns with the one under test. What a start costs depends on how a
//! program lies in the page cache, by several percent: so neither is run where it was built, but from copies that
//! are made alike, and made anew again and again.

use crate::comparison::Change;
use crate::evidence::RowRecord;
use crate::fixture::Fixture;
use crate::statistics::{mann_whitney, ratio};
use crate::system::{AGAINST, COLD};
use std::io;
use std::path::{Path, PathBuf};

/// After so many samples of each the copies are made anew.
const BLOCK: u32 = 10;

/// The two builds.
pub(crate) struct Against {
    builds: [(PathBuf, PathBuf); 2],
}

impl Against {
    /// Copies both: the one under test, and the other.
    pub(crate) fn new(fixture: &Fixture, own: &Path, other: &Path) -> io::Result<Self> {
        let copies = fixture.base().join("builds");
        std::fs::create_dir_all(&copies)?;
        let builds = [(own, "own"), (other, "other")];
        let new = Self {
            builds: builds.map(|(build, name)| (build.to_path_buf(), copies.join(name))),
        };
        new.renew()?;
        Ok(new)
    }

    /// The copies: of the one under test, and of the other.
    pub(crate) fn copies(&self) -> [&Path; 2] {
        self.builds.each_ref().map(|(_, copy)| copy.as_path())
    }

    /// Whether the copies are made anew before this run; the first is 1.
    pub(crate) fn is_due(run: u32) -> bool {
        run > BLOCK && run % BLOCK == 1
    }

    /// Makes the copies anew, and waits until they are on the disk: to write them is no run's to pay for.
    pub(crate) fn renew(&self) -> io::Result<()> {
        // Both before the old ones go, whose memory the second would get otherwise.
        let draft = |copy: &Path| copy.with_extension("new");
        for (build, copy) in &self.builds {
            crate::program::copy(build, &draft(copy))?;
            std::fs::File::open(draft(copy))?.sync_all()?;
        }
        for (_, copy) in &self.builds {
            std::fs::rename(draft(copy), copy)?;
        }
        Ok(())
    }
}

/// What a row says about the two, in a line; none where one of them has no figure.
pub(crate) fn told(row: &RowRecord) -> Option<String> {
    let samples = |system| row.cell(system)?.passed_samples();
    let (own, other) = (samples(COLD)?, samples(AGAINST)?);
    let ratio = ratio(&own, &other)?;
    let change = Change::of(&ratio, mann_whitney(&own, &other));
    Some(format!(
        "{}: {:.3} [{:.3}, {:.3}] of the time of the other build: {change}",
        row.name, ratio.value, ratio.low, ratio.high
    ))
}
