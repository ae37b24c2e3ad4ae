//! Where a link may be, and where it may lead.

use super::Rules;
use crate::git;
use bailiwick_policy::resolve_existing;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

impl Rules {
    /// With the product's own folder, where nobody looks after what a sandbox keeps in private.
    pub(crate) fn beside(&mut self, own: &Path) {
        self.own = own.to_path_buf();
    }

    /// Whether a link would lead to the product's own folder, or to one that holds it.
    pub(crate) fn leads_to_own(&self, link: &Path, target: &OsStr) -> bool {
        let link = self.of_policy(link);
        let plain = git::plain(&link.parent().unwrap_or(&link).join(target));
        let known = !self.own.as_os_str().is_empty();
        let reaches = |at: &Path| at.starts_with(&self.own) || self.own.starts_with(at);
        known && (reaches(&plain) || reaches(&resolve_existing(&plain)))
    }

    /// Whether git's files lead through a name, where a link would lead them elsewhere.
    pub(crate) fn is_on_a_way(&self, path: &Path) -> bool {
        self.git(path).is_some() && self.nested.ways.has(&self.of_policy(path))
    }

    /// The names below a folder, from there on, through which git's files lead.
    pub(crate) fn ways_below(&self, folder: &Path) -> Vec<PathBuf> {
        self.nested.ways.below(&self.of_policy(folder))
    }
}
