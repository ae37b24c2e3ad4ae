//! Where a link may be, and where it may lead.

use super::{Name, Rules};
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

    /// The places to which a link would lead, as the policy writes paths: by its text, and through other links.
    fn targets(&self, link: &Path, target: &OsStr) -> [PathBuf; 2] {
        let link = self.of_policy(link);
        let plain = git::plain(&link.parent().unwrap_or(&link).join(target));
        let real = resolve_existing(&plain);
        [plain, real]
    }

    /// The rule that denies what a link would lead to, by its path.
    pub(crate) fn denies_target(&self, link: &Path, target: &OsStr) -> Option<u32> {
        if !self.host.iter().any(|folder| link.starts_with(folder)) {
            return None;
        }
        let targets = self.targets(link, target);
        let found = self.names.iter().find(|(number, name)| {
            let Name::Whole(whole) = name else {
                return false;
            };
            let whole = self.of_policy(whole);
            *number >= self.denied_from && targets.iter().any(|target| target.starts_with(&whole))
        });
        found.map(|(number, _)| *number)
    }

    /// Whether a link would lead to where the sandbox sees nothing: who follows it outside reads or writes there.
    pub(crate) fn leads_out(&self, link: &Path, target: &OsStr) -> bool {
        let seen = |at: &PathBuf| {
            let of_system = ["/proc", "/dev", "/sys"];
            let mut folders = self.kept.iter().chain(&self.seen);
            of_system.iter().any(|folder| at.starts_with(folder))
                || folders.any(|folder| at.starts_with(folder))
        };
        let kept = self.host.iter().any(|folder| link.starts_with(folder));
        kept && !self.targets(link, target).iter().all(seen)
    }

    /// Whether a link lies in a folder that may be written and is not the workspace: other programs keep there what
    /// they write without a look.
    pub(crate) fn is_beside_workspace(&self, link: &Path) -> bool {
        !link.starts_with(&self.workspace)
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
