//! Landlock over the finished root: a second, independent layer under the mounts. If a mount
//! were writable by mistake, or a way to mount were found, this still holds.

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::stdio::{stderr, stdin, stdout};
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
    for stream in [stdin(), stdout(), stderr()] {
        if let Some(rights) = of_stream(stream) {
            // A convenience that some files cannot have (a memfd is in no file system).
            let _ = ruleset
                .try_clone()?
                .add_rule(PathBeneath::new(stream, rights));
        }
    }
    Ok(ruleset.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

/// What a stream that was handed in may be opened again for (`/dev/stdout`): what it is open for.
/// Folders and terminals are no such streams; pipes and sockets are not Landlock's matter.
fn of_stream(stream: BorrowedFd<'_>) -> Option<BitFlags<AccessFs>> {
    let kind = FileType::from_raw_mode(rustix::fs::fstat(stream).ok()?.st_mode);
    if !matches!(kind, FileType::RegularFile | FileType::CharacterDevice) {
        return None;
    }
    let flags = rustix::fs::fcntl_getfl(stream).ok()?;
    Some(match flags & OFlags::RWMODE {
        OFlags::RDONLY => AccessFs::ReadFile.into(),
        OFlags::WRONLY => AccessFs::WriteFile | AccessFs::Truncate,
        _ => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
    })
}

fn open(path: &Path) -> Result<OwnedFd, rustix::io::Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}
