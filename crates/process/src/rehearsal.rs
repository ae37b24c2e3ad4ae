//! The plan of a sandbox without the sandbox: what a policy comes to on this machine, so that the
//! way from a policy to a plan can be measured by itself. No process is started and nothing is
//! mounted.

use crate::broker::Rules;
use crate::identity::Identity;
use crate::plan::Plan;
use bailiwick_event::Failure;
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
