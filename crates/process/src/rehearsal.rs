//! A sandbox without the sandbox: what a policy comes to on this machine, so that the way from it to a plan can be
//! measured by itself, and that a person can ask what would be refused. No process is started and nothing is
//! mounted.

use crate::broker::{Rules, Verdict};
use crate::identity::Identity;
use crate::plan::Plan;
use bailiwick_event::{Failure, RuleRef};
use bailiwick_policy::{Effective, ProtectAbsent};
use std::path::{Path, PathBuf};

/// What a sandbox's root would be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rehearsal {
    /// Mounts of the host's files.
    pub mounts: usize,
    /// Paths that would be read-only.
    pub protected: usize,
    /// Paths that would be unreadable.
    pub masked: usize,
}

/// Plans a sandbox for a policy; `private` is the folder that backs its private paths.
///
/// # Errors
/// A [`Failure`] where the policy cannot be enforced here, as at a start.
pub fn rehearse(policy: &Effective, private: &Path) -> Result<Rehearsal, Failure> {
    let host: Vec<PathBuf> = Plan::writable_on_host(policy).collect();
    let brokered = policy.filesystem.protect_absent() == ProtectAbsent::Enforce;
    let rules = brokered.then(|| Rules::of(policy, &host));
    let root = Identity::of_caller().is_by_root();
    let plan = Plan::new(policy, private, root, rules.as_ref())?;
    Ok(Rehearsal {
        mounts: plan.binds.len(),
        protected: plan.protected.len(),
        masked: plan.masked.len(),
    })
}

/// The rule that keeps a run from writing a path which an entry of the policy lets it write, and why, for a person:
/// programs of the host run or obey it. Repositories in the folders that may be written, and what their hooks and
/// programs of the host call there, are looked for.
pub fn refused_inside(policy: &Effective, path: &Path) -> Option<(RuleRef, String)> {
    if policy.filesystem.protect_absent() != ProtectAbsent::Enforce {
        return None;
    }
    let host: Vec<PathBuf> = Plan::writable_on_host(policy).collect();
    let mut rules = Rules::of(policy, &host).compiled();
    rules.know_all(rules.find());
    let Verdict::Refuse(number) = rules.decide(path) else {
        return None;
    };
    let by = rules.called_by(path)?;
    let named = Rules::named(policy).into_iter().nth(number as usize)?;
    let note = format!(
        "programs outside run or obey it, by {by}; it cannot be made, changed or removed inside"
    );
    Some((named.rule, note))
}
