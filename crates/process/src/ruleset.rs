//! Landlock over the finished root: a second, independent layer under the mounts. If a mount
//! were writable by mistake, or a way to mount were found, this still holds.

use crate::programs::Programs;
use crate::switches::{self, Layer, without};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::stdio::{stderr, stdin, stdout};
use std::error::Error;
use std::path::{Path, PathBuf};

/// The newest ABI whose every right this code knows the meaning of.
fn newest() -> ABI {
    match switches::landlock_abi() {
        Some(known) => ABI::from(i32::try_from(known).unwrap_or_default()).min(ABI::V6),
        None => ABI::V6,
    }
}

/// Restricts this process, and all that it starts, to reading and executing what the root holds
/// and to writing below `writable`. Returns whether the kernel enforces it at all; an older one
/// enforces the rights that it knows (see [`crate::layers::names`]).
pub(crate) fn enforce<'a>(
    writable: impl Iterator<Item = &'a Path>,
) -> Result<bool, Box<dyn Error>> {
    if without(Layer::Landlock) {
        return Ok(true);
    }
    if newest() == ABI::Unsupported {
        return Ok(false);
    }
    let all = AccessFs::from_all(newest());
    // What may be read is the mounts' matter: the root holds nothing else.
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?;
    let mut ruleset = scoped(ruleset)?
        .create()?
        .add_rule(PathBeneath::new(open(Path::new("/"))?, read))?;
    for path in writable {
        // A file has fewer rights than a folder; the kernel refuses the others.
        let rights = if path.is_dir() {
            all
        } else {
            AccessFs::from_file(newest())
        };
        ruleset = ruleset.add_rule(PathBeneath::new(open(path)?, rights))?;
    }
    allow_streams(&ruleset)?;
    Ok(ruleset.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

/// Restricts this process, and all that it starts, to these paths of the host, to no TCP at all and
/// to signals among themselves. Returns whether the kernel enforces it at all.
pub(crate) fn enforce_on_host(
    read: &[PathBuf],
    write: &[PathBuf],
    programs: &Programs,
) -> Result<bool, Box<dyn Error>> {
    if without(Layer::Landlock) {
        return Ok(true);
    }
    if newest() == ABI::Unsupported {
        return Ok(false);
    }
    let all = AccessFs::from_all(newest());
    let reading: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?;
    let net = AccessNet::from_all(newest());
    let ruleset = match net.is_empty() {
        true => ruleset,
        false => ruleset.handle_access(net)?,
    };
    let mut ruleset = scoped(ruleset)?.create()?;
    for (paths, rights) in [(read, reading), (write, all)] {
        for path in paths {
            let mut rights = match path.is_dir() {
                true => rights,
                false => rights & AccessFs::from_file(newest()),
            };
            if programs.parted.contains(path) {
                rights.remove(AccessFs::Execute);
            }
            ruleset = ruleset.add_rule(PathBeneath::new(open(path)?, rights))?;
        }
    }
    for path in &programs.beside {
        // What is gone since cannot be executed.
        if let Ok(found) = open(path) {
            ruleset = ruleset.add_rule(PathBeneath::new(found, AccessFs::Execute))?;
        }
    }
    allow_streams(&ruleset)?;
    Ok(ruleset.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

/// With everything that signals and sockets can be confined to; older versions know nothing of it.
fn scoped(ruleset: Ruleset) -> Result<Ruleset, Box<dyn Error>> {
    let scope = Scope::from_all(newest());
    Ok(match scope.is_empty() {
        true => ruleset,
        false => ruleset.scope(scope)?,
    })
}

/// Keeps what this process starts from sending signals to anything but itself, its parent
/// included. Older kernels than Linux 6.12 cannot do that.
pub(crate) fn shield() -> Result<(), Box<dyn Error>> {
    if without(Layer::Landlock) || Scope::from_all(newest()).is_empty() {
        return Ok(());
    }
    scoped(Ruleset::default().set_compatibility(CompatLevel::BestEffort))?
        .create()?
        .restrict_self()?;
    Ok(())
}

/// Lets the streams that were handed in be opened again.
fn allow_streams(ruleset: &RulesetCreated) -> Result<(), Box<dyn Error>> {
    for stream in [stdin(), stdout(), stderr()] {
        if let Some(rights) = of_stream(stream) {
            // A convenience that some files cannot have (a memfd is in no file system).
            let _ = ruleset
                .try_clone()?
                .add_rule(PathBeneath::new(stream, rights));
        }
    }
    Ok(())
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
