//! Names that patterns of the policy deny. What is there when a run begins, mounts hide; a sandbox may make files of
//! such names for itself. But what the user has at one keeps it: under another name the next run would read it.

use super::globs::Glob;
use super::{Name, Rules, first_denied};
use crate::setup::raw;
use crate::walk::Heads;
use bailiwick_policy::{Effective, PathGlob, PathPattern, resolve_existing};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A pattern that denies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Denied {
    /// The number of its rule.
    rule: u32,
    #[serde(with = "raw")]
    pub(super) root: PathBuf,
    pub(super) glob: Glob,
}

impl Denied {
    /// Those of a policy.
    pub(super) fn of(policy: &Effective) -> Vec<Self> {
        let denied = (first_denied(policy)..).zip(&policy.filesystem.deny);
        let patterns = denied.flat_map(|(rule, entry)| match &entry.pattern {
            PathPattern::Glob { root, glob } => {
                let real = resolve_existing(root);
                let other = (real != *root).then_some(real);
                let one = |root| Self {
                    rule,
                    root,
                    glob: Glob::of(glob),
                };
                std::iter::once(root.clone())
                    .chain(other)
                    .map(one)
                    .collect()
            }
            PathPattern::Path(_) => Vec::new(),
        });
        patterns.collect()
    }

    /// Whether it looks at more than the last name of a path.
    fn looks_above(&self) -> bool {
        let text = self.glob.text();
        text.strip_prefix("**/").unwrap_or(text).contains('/')
    }
}

impl Rules {
    /// The first rule whose pattern denies.
    pub(super) fn first_denied(&self) -> Option<u32> {
        self.denied.first().map(|one| one.rule)
    }

    /// Denies what patterns deny by other paths than they match, by the numbers of the policy's entries.
    pub(crate) fn deny_elsewhere<'a>(
        &mut self,
        policy: &Effective,
        paths: impl Iterator<Item = &'a (usize, PathBuf)>,
    ) {
        let first = first_denied(policy);
        let named = paths.map(|(entry, path)| {
            let rule = first.saturating_add(u32::try_from(*entry).unwrap_or(u32::MAX));
            (rule, Name::Whole(path.clone()))
        });
        self.protect_all(named.collect());
    }

    /// What is left of a pattern that denies below a link at this path, up to a part with a wildcard.
    pub(super) fn denied_below(&self, path: &Path) -> Vec<(u32, PathBuf)> {
        let heads = self.denied_heads.get_or_init(|| {
            let all = self.denied.iter();
            all.map(|one| Heads::of(one.glob.text())).collect()
        });
        let mut found = Vec::new();
        for (one, heads) in self.denied.iter().zip(heads) {
            if let Ok(below) = path.strip_prefix(&one.root) {
                let tails = heads.tails(below).map(plain_part);
                found.extend(tails.map(|tail| (one.rule, tail)));
            }
        }
        found
    }

    /// The rule whose pattern denies a path by its name, or all of a folder above it.
    pub(crate) fn denied_by_pattern(&self, path: &Path) -> Option<u32> {
        let found = self.denied.iter().find(|one| {
            let below = path.strip_prefix(&one.root);
            below.is_ok_and(|below| one.glob.means(below))
        });
        found.map(|one| one.rule)
    }

    /// Whether what a folder holds could be rid of such a pattern when the folder is moved.
    pub(super) fn may_lose_pattern(&self, from: &Path, to: &Path) -> bool {
        self.denied.iter().any(|one| {
            let was_below = from.starts_with(&one.root) || one.root.starts_with(from);
            was_below && (one.looks_above() || !to.starts_with(&one.root))
        })
    }
}

/// The parts of a pattern before the first with a wildcard.
fn plain_part(glob: &str) -> PathBuf {
    let parts = glob.split('/');
    parts.take_while(|part| PathGlob::is_plain(part)).collect()
}
