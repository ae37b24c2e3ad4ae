//! Settings of git by which it connects elsewhere, or shows less than it did: the user is told.

use super::host::{ADDRESS, SETTINGS, TEMPORARY};
use super::{Left, Rules};
use crate::git;
use std::path::Path;

impl Rules {
    /// What is reported of a configuration of git that leads elsewhere.
    pub(crate) fn left_addresses(&self, path: &Path, temporary: bool) -> Option<Left> {
        self.left_as(path, if temporary { TEMPORARY } else { ADDRESS })
    }

    /// What is reported of a configuration of git by which it shows or signs otherwise.
    pub(crate) fn left_settings(&self, path: &Path) -> Option<Left> {
        self.left_as(path, SETTINGS)
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
        self.left_settings(path).filter(|_| was_there)
    }

    /// Whether a file, as a path of the host, is a list of a sparse checkout that git does not obey.
    pub(super) fn is_idle_list(&self, path: &Path) -> bool {
        let git = path.ancestors().nth(2);
        let git = git.filter(|_| path.ends_with("info/sparse-checkout"));
        git.is_some_and(|git| !git::is_sparse(&self.site_on_host(&git.join("config"))))
    }
}
