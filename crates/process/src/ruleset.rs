//! Landlock over the finished root: a second, independent layer under the mounts. If a mount
//! were writable by mistake, or a way to mount were found, this still holds.

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::error::Error;
use std::path::Path;

/// The newest ABI whose every right this code knows the meaning of.
const NEWEST: ABI = ABI::V6;

/// Restricts this process, and all that it starts, to reading and executing what the root holds
/// and to writing below `writable`. Returns whether the kernel enforces it at all; an older one
/// enforces the rights that it knows (see [`crate::layers::names`]).
pub(crate) fn enforce<'a>(
    writable: impl Iterator<Item = &'a Path>,
) -> Result<bool, Box<dyn Error>> {
    let all = AccessFs::from_all(NEWEST);
    // What may be read is the mounts' matter: the root holds nothing else.
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rule(PathBeneath::new(open(Path::new("/"))?, read))?;
    for path in writable {
        // A file has fewer rights than a folder; the kernel refuses the others.
        let rights = if path.is_dir() {
            all
        } else {
            AccessFs::from_file(NEWEST)
        };
        ruleset = ruleset.add_rule(PathBeneath::new(open(path)?, rights))?;
    }
    Ok(ruleset.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

fn open(path: &Path) -> Result<OwnedFd, rustix::io::Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}
