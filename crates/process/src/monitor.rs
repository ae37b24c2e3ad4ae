//! A monitor: a program of the product's own that shows the policy's files to somebody else (a virtual
//! machine), and is confined as a command is.
//!
//! Decision: everything of the policy's root stands below one folder, and nothing else does; so what
//! the monitor exports is that folder, and a mistake of it, or of whoever took it over, cannot export
//! what the policy does not name. The folder's own folders are on a mount that is read-only.

use crate::broker::Rules;
use crate::identity::Identity;
use crate::kernel::mount_setattr;
use crate::mounts::{self, HARMLESS, READ_ONLY, attach, clone_tree, inside, make_folders};
use crate::paths;
use crate::plan::{Access, Bind, Plan};
use crate::setup::raw;
use crate::skeleton::FOLDERS;
use bailiwick_event::Failure;
use bailiwick_policy::{Effective, Foreign, PathPattern};
use bailiwick_sandbox::{Monitor, Own, OwnAccess};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, FileType, Gid, Mode, Uid, chown, fstat, mknodat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// What of a root is a monitor's.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shown {
    /// Where the policy's files stand, at their own paths.
    #[serde(with = "raw")]
    pub(crate) share: PathBuf,
    /// What the monitor itself needs, elsewhere.
    pub(crate) own: Vec<Bind>,
}

/// Moves a policy's plan below the monitor's folder, and what the broker decides by as well. `root`
/// says whether the host's root starts the sandbox.
pub(crate) fn place(
    plan: &mut Plan,
    rules: Option<Rules>,
    monitor: &Monitor<'_>,
    policy: &Effective,
    root: bool,
) -> Result<Rules, Failure> {
    let share = monitor.share;
    let places = FOLDERS.iter().map(|(folder, _)| Path::new(folder));
    if !is_plain(share) || overlaps(share, places) {
        return Err(cannot_stand(share));
    }
    let writable = Plan::writable_on_host(policy)
        .map(PathPattern::Path)
        .collect();
    let foreign = Foreign::new(writable, policy.written.as_deref());
    let foreign = foreign.map_err(|why| Failure::fault(format!("not started: {why}")))?;
    let mut own = Vec::with_capacity(monitor.own.len());
    let mut templates = Vec::new();
    for entry in monitor.own {
        let at = &entry.at;
        if !is_plain(at) || at.starts_with("/proc") || overlaps(at, [share].into_iter()) {
            return Err(cannot_stand(at));
        }
        if entry.access == OwnAccess::Template {
            templates.push(at.clone());
        }
        own.push(bind(entry, &foreign, root)?);
    }
    plan.move_below(share);
    plan.shown = Some(Shown {
        share: share.to_path_buf(),
        own,
    });
    Ok(rules.unwrap_or_default().below(share, templates))
}

/// Whether a path is absolute, has nothing but names, and at least one.
fn is_plain(path: &Path) -> bool {
    let mut parts = path.components();
    parts.next() == Some(Component::RootDir)
        && path.file_name().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn overlaps<'a>(path: &Path, mut others: impl Iterator<Item = &'a Path>) -> bool {
    others.any(|other| path.starts_with(other) || other.starts_with(path))
}

fn cannot_stand(at: &Path) -> Failure {
    Failure::fault(format!(
        "not started: nothing of a monitor can stand at {}: it is no place of its own\n  remedy: \
         name another",
        at.display()
    ))
}

/// The mount of something that the monitor needs. A link that a sandbox could have made does not
/// choose what that is.
fn bind(entry: &Own, foreign: &Foreign, root: bool) -> Result<Bind, Failure> {
    let fault = |why: &str| {
        Failure::fault(format!(
            "not started: the monitor needs {}, which {why}",
            entry.source.display()
        ))
    };
    let resolved = paths::resolve(&entry.source).ok_or_else(|| fault("is not there"))?;
    if foreign.among(&resolved.links).is_some() {
        return Err(fault("leads through a link that a sandbox may write"));
    }
    let meta = fs::metadata(&resolved.real).map_err(|e| fault(&format!("is closed: {e}")))?;
    let device = meta.file_type().is_char_device();
    if device != (entry.access == OwnAccess::Device) {
        return Err(fault("is a device or is none, and should not be"));
    }
    if entry.access == OwnAccess::Template && !meta.is_file() {
        return Err(fault("is not a file"));
    }
    let access = match entry.access {
        OwnAccess::Read | OwnAccess::Template => Access::Read,
        OwnAccess::Write => Access::Write,
        OwnAccess::Device => Access::Device,
    };
    // Nobody on the host is who the host's root becomes: what only its owner may use is shown as his.
    let closed = meta.mode() & 0o004 == 0;
    let owned = root && !device && (access == Access::Write || closed);
    Ok(Bind {
        source: resolved.real,
        at: entry.at.clone(),
        access,
        folder: meta.is_dir(),
        owner: owned.then(|| (meta.uid(), meta.gid())),
    })
}

/// Begins the folder: on a mount of its own, so that this can be closed when everything stands in it.
pub(crate) fn begin(share: &Path) -> io::Result<()> {
    let place = inside(share);
    make_folders(&place)?;
    attach(&clone_tree(&place)?, &place)
}

/// Closes it: nobody makes, changes or executes anything beside what is mounted in it.
pub(crate) fn close(share: &Path) -> io::Result<()> {
    let top = mounts::open_without_links(&inside(share))?;
    mount_setattr(top.as_fd(), READ_ONLY | HARMLESS | NO_EXEC, None, false)
}

/// What the mounts below the folder have besides: their files are somebody else's programs.
pub(crate) const NO_EXEC: u64 = libc::MOUNT_ATTR_NOEXEC;

/// A node of the monitor's for a device of the host, which belongs to the host's root and a group: to
/// neither of which the monitor that he starts belongs, and an idmapping no file system of devices has.
pub(crate) fn device(source: &Path, identity: Identity) -> io::Result<OwnedFd> {
    let found = fstat(mounts::open_without_links(source)?)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::CharacterDevice {
        return Err(Errno::NODEV.into());
    }
    let folder = inside(Path::new("/.device"));
    make_folders(&folder)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("tmpfs", &folder, "tmpfs", flags, Some(c"mode=0755"))?;
    let node = folder.join("node");
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, &node, FileType::CharacterDevice, mode, found.st_rdev)?;
    let (uid, gid) = identity.outside();
    chown(&node, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
    let tree = clone_tree(&node)?;
    unmount(&folder, UnmountFlags::DETACH)?;
    fs::remove_dir(&folder)?;
    Ok(tree)
}

#[cfg(test)]
#[path = "monitor_tests.rs"]
mod tests;
