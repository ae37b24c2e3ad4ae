//! Names that patterns of the policy deny. What is there when a run begins, mounts hide; a sandbox may make files of
//! such names for itself. But what the user has at one keeps it: under another name the next run would read it.

use super::{Name, Rules, first_denied};
use crate::setup::raw;
use bailiwick_policy::{Effective, PathGlob, PathPattern};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A pattern that denies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Denied {
    /// The number of its rule.
    rule: u32,
    #[serde(with = "raw")]
    pub(super) root: PathBuf,
    pub(super) glob: String,
}

impl Denied {
    /// Those of a policy.
    pub(super) fn of(policy: &Effective) -> Vec<Self> {
        let denied = (first_denied(policy)..).zip(&policy.filesystem.deny);
        let patterns = denied.filter_map(|(rule, entry)| match &entry.pattern {
            PathPattern::Glob { root, glob } => Some(Self {
                rule,
                root: root.clone(),
                glob: glob.clone(),
            }),
            PathPattern::Path(_) => None,
        });
        patterns.collect()
    }

    /// Whether it looks at more than the last name of a path.
    fn looks_above(&self) -> bool {
        self.glob
            .strip_prefix("**/")
            .unwrap_or(&self.glob)
            .contains('/')
    }
}

impl Rules {
    /// With the patterns in the form that decides.
    pub(super) fn compile_denied(&mut self) {
        let compiled = self.denied.iter().map(|one| PathGlob::new(&one.glob).ok());
        self.denied_globs = compiled.collect();
    }

    /// The first rule whose pattern denies.
    pub(super) fn first_denied(&self) -> Option<u32> {
        self.denied.first().map(|one| one.rule)
    }

    /// Denies all of the folders that may hold what a pattern denies, by the numbers of the policy's entries.
    pub(crate) fn deny_closed(&mut self, policy: &Effective, closed: &[(usize, PathBuf)]) {
        for (entry, path) in closed {
            let rule =
                first_denied(policy).saturating_add(u32::try_from(*entry).unwrap_or(u32::MAX));
            self.protect_once(rule, Name::Whole(path.clone()));
        }
    }

    /// The rule whose pattern denies a path by its name, or all of a folder above it.
    pub(crate) fn denied_by_pattern(&self, path: &Path) -> Option<u32> {
        let mut patterns = self.denied.iter().zip(&self.denied_globs);
        let found = patterns.find(|(one, glob)| {
            let Ok(below) = path.strip_prefix(&one.root) else {
                return false;
            };
            let mut parts = below.ancestors().filter(|part| part.parent().is_some());
            // One that cannot be understood denies everything.
            glob.as_ref()
                .is_none_or(|glob| parts.any(|part| glob.is_match(part)))
        });
        found.map(|(one, _)| one.rule)
    }

    /// Whether what a folder holds could be rid of such a pattern when the folder is moved.
    pub(super) fn may_lose_pattern(&self, from: &Path, to: &Path) -> bool {
        self.denied.iter().any(|one| {
            let was_below = from.starts_with(&one.root) || one.root.starts_with(from);
            was_below && (one.looks_above() || !to.starts_with(&one.root))
        })
    }
}
