//! Settings of git by which it connects elsewhere, or shows less than it did: the user is told.

use super::host::{ADDRESS, SETTINGS, TEMPORARY};
use super::{Left, Rules};
use crate::git::{self, Site};
use std::path::Path;

impl Rules {
    /// What is reported of a configuration of git that said `before` and says `now`: that its remotes or branches lead
    /// elsewhere, where only temporary folders are meant if there are any outside; and that git shows or signs otherwise.
    /// Of one that was there when the run began (`of_user`) more counts.
    pub(crate) fn left_configuration(
        &self,
        path: &Path,
        [before, now]: [&[u8]; 2],
        of_user: bool,
        site: &Site<'_>,
    ) -> Vec<Left> {
        let misleads = git::misleads(before, now, of_user).then_some(SETTINGS);
        let others = of_user && git::has_others(before, now);
        let address = if others || git::turns_elsewhere(before, now) {
            Some(ADDRESS)
        } else {
            let comes = !git::has_temporary(before, site) && git::has_temporary(now, site);
            comes.then_some(TEMPORARY)
        };
        let rows = misleads.into_iter().chain(address);
        rows.filter_map(|row| self.left_as(path, row)).collect()
    }

    /// What is reported of a list of files that git does not show or check out, in a repository that was there.
    pub(super) fn hides(&self, path: &Path) -> Option<Left> {
        let below = git::below_git(path)?;
        let git = path.ancestors().nth(below.len())?;
        let hides = matches!(
            below[..],
            [b"info", b"exclude" | b"attributes"] | [.., b"info", b"sparse-checkout"]
        );
        let was_there = hides && !self.baseline(&git.join("config")).is_empty();
        self.left_as(path, SETTINGS).filter(|_| was_there)
    }

    /// Whether a file, as a path of the host, is a list of a sparse checkout that git does not obey.
    pub(super) fn is_idle_list(&self, path: &Path) -> bool {
        let git = path.ancestors().nth(2);
        let git = git.filter(|_| path.ends_with("info/sparse-checkout"));
        git.is_some_and(|git| !git::is_sparse(&self.site_on_host(&git.join("config"))))
    }
}
