//! Builds the private root in the sandbox's own mount namespace and moves into it.
//!
//! Order matters: every tree of the host is opened before the new root covers anything, the
//! new root is complete before it is entered, and the old one is gone before any code of the
//! sandbox runs.

use crate::identity::Identity;
use crate::kernel::mount_setattr;
use crate::plan::{Access, Plan};
use crate::skeleton::Skeleton;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat2};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Where the new root is built; only inside the new mount namespace, and only until it is
/// entered. It is a folder that every machine has.
const NEW: &str = "/tmp";
/// Devices that every program may expect.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Sources of masks, below the new root; removed when every mask is in place.
const MASKS: &str = "/.masks";

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const HARMLESS: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// A step and the error that it ended with.
#[derive(Debug)]
pub(crate) struct MountError {
    pub(crate) what: String,
    pub(crate) errno: i32,
}

fn at<T>(
    what: impl Into<String>,
    result: Result<T, impl Into<io::Error>>,
) -> Result<T, MountError> {
    result.map_err(|error| MountError {
        what: what.into(),
        errno: error.into().raw_os_error().unwrap_or(0),
    })
}

/// A path of the new root before it is entered.
fn inside(path: &Path) -> PathBuf {
    Path::new(NEW).join(path.strip_prefix("/").unwrap_or(path))
}

/// Opens the host's files for a bind; the idmapping needs the privileges of the host's root, so
/// that these trees are opened before the sandbox's user namespace is entered.
pub(crate) fn clone_tree(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(open_tree(open_without_links(path)?, c"", flags)?)
}

/// Opens what a path without links leads to. The plan has resolved every link; one that is met now
/// was put there since.
fn open_without_links(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat2(
        CWD,
        path,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    )?)
}

fn attach(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    let place = open_without_links(path)?;
    Ok(move_mount(tree.as_fd(), c"", place.as_fd(), c"", flags)?)
}

/// Makes a folder and those above it; what exists stays as it is.
fn make_folders(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
}

fn make_target(path: &Path, folder: bool) -> io::Result<()> {
    if folder {
        return make_folders(path);
    }
    if let Some(parent) = path.parent() {
        make_folders(parent)?;
    }
    match fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
    {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
    }
}

/// Builds the root and enters it.
pub(crate) fn enter(
    plan: &Plan,
    idmaps: &[Option<OwnedFd>],
    skeleton: &Skeleton,
    identity: Identity,
) -> Result<(), MountError> {
    at("the mount namespace", keep_private())?;
    let mut trees = Vec::with_capacity(plan.binds.len());
    for (bind, idmap) in plan.binds.iter().zip(idmaps) {
        let name = || bind.source.display().to_string();
        let tree = at(name(), clone_tree(&bind.source))?;
        let set = HARMLESS
            | if bind.access == Access::Read {
                READ_ONLY
            } else {
                0
            };
        at(
            name(),
            mount_setattr(tree.as_fd(), set, idmap.as_ref().map(AsFd::as_fd), true),
        )?;
        trees.push(tree);
    }
    let mut devices = Vec::with_capacity(DEVICES.len());
    for name in DEVICES {
        let path = Path::new("/dev").join(name);
        devices.push((name, at(path.display().to_string(), clone_tree(&path))?));
    }
    new_root(&skeleton.tmpfs_options)?;
    build(skeleton, identity, devices)?;
    for link in &plan.links {
        let path = inside(&link.at);
        if let Some(parent) = path.parent() {
            at(link.at.display().to_string(), make_folders(parent))?;
        }
        // A folder of the skeleton may stand in its place already.
        let _ = symlink(&link.target, &path);
    }
    for (bind, tree) in plan.binds.iter().zip(&trees) {
        let path = inside(&bind.at);
        at(
            bind.at.display().to_string(),
            make_target(&path, bind.folder),
        )?;
        at(bind.at.display().to_string(), attach(tree, &path))?;
    }
    drop(trees);
    for (path, content) in &skeleton.covered {
        cover(path, content)?;
    }
    restrict(plan)?;
    pivot()
}

fn new_root(options: &CStr) -> Result<(), MountError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    at(
        "the private root",
        mount("tmpfs", NEW, "tmpfs", flags, Some(options)),
    )
}

/// The parts of the root that are not the host's.
fn build(
    skeleton: &Skeleton,
    identity: Identity,
    devices: Vec<(&'static str, OwnedFd)>,
) -> Result<(), MountError> {
    for (folder, mode, own) in &skeleton.folders {
        let path = inside(folder);
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(*mode)
            .create(&path)
            .and_then(|()| match (own, identity) {
                (true, Identity::Root) => {
                    let (uid, gid) = identity.inside();
                    std::os::unix::fs::chown(&path, Some(uid), Some(gid))
                }
                _ => Ok(()),
            });
        at(folder.display().to_string(), made)?;
    }
    for (name, tree) in devices {
        let path = inside(&Path::new("/dev").join(name));
        at(
            format!("/dev/{name}"),
            make_target(&path, false).and_then(|()| attach(&tree, &path)),
        )?;
    }
    for (name, target) in [
        ("dev/fd", "/proc/self/fd"),
        ("dev/stdin", "/proc/self/fd/0"),
        ("dev/stdout", "/proc/self/fd/1"),
        ("dev/stderr", "/proc/self/fd/2"),
        ("dev/ptmx", "pts/ptmx"),
        ("var/run", "/run"),
        ("var/lock", "/run/lock"),
    ] {
        at(name, symlink(target, inside(Path::new(name))))?;
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    at(
        "/dev/pts",
        mount(
            "devpts",
            inside(Path::new("/dev/pts")),
            "devpts",
            flags,
            Some(options),
        ),
    )?;
    let flags = flags | MountFlags::NODEV;
    at(
        "/proc",
        mount(
            "proc",
            inside(Path::new("/proc")),
            "proc",
            flags,
            None::<&CStr>,
        ),
    )?;
    for (path, content) in &skeleton.files {
        let file = inside(path);
        if let Some(parent) = file.parent() {
            at(path.display().to_string(), make_folders(parent))?;
        }
        at(path.display().to_string(), fs::write(&file, content))?;
        if let (Identity::Root, true) = (identity, path.starts_with(&skeleton.home)) {
            let (uid, gid) = identity.inside();
            at(
                path.display().to_string(),
                std::os::unix::fs::chown(&file, Some(uid), Some(gid)),
            )?;
        }
    }
    Ok(())
}

/// Puts a file of the product over one of the host, where the host has one.
fn cover(path: &Path, content: &[u8]) -> Result<(), MountError> {
    let name = || path.display().to_string();
    let target = inside(path);
    let source = inside(Path::new("/run/.cover"));
    at(name(), fs::write(&source, content))?;
    let place = match fs::symlink_metadata(&target) {
        // Absent: it is made if its folder is the product's own, else the host never had it.
        Err(_) => {
            if let Some(parent) = target.parent() {
                let _ = make_folders(parent);
            }
            let _ = fs::rename(&source, &target);
            return Ok(());
        }
        Ok(_) => target,
    };
    let covered = clone_tree(&source)
        .and_then(|tree| {
            mount_setattr(tree.as_fd(), READ_ONLY | HARMLESS, None, false)?;
            attach(&tree, &place)
        })
        .and_then(|()| fs::remove_file(&source));
    at(name(), covered)
}

/// Pins, protects and masks; last, so that nothing is mounted over it.
fn restrict(plan: &Plan) -> Result<(), MountError> {
    for path in &plan.pinned {
        let place = inside(path);
        at(
            path.display().to_string(),
            clone_tree(&place).and_then(|t| attach(&t, &place)),
        )?;
    }
    for path in &plan.protected {
        let place = inside(path);
        let done = clone_tree(&place).and_then(|tree| {
            mount_setattr(tree.as_fd(), READ_ONLY | HARMLESS, None, true)?;
            attach(&tree, &place)
        });
        at(path.display().to_string(), done)?;
    }
    if plan.masked.is_empty() {
        return Ok(());
    }
    let masks = inside(Path::new(MASKS));
    let (file, folder) = (masks.join("file"), masks.join("folder"));
    at(
        "masks",
        make_folders(&folder).and_then(|()| fs::write(&file, "")),
    )?;
    for mask in [&file, &folder] {
        at(
            "masks",
            fs::set_permissions(mask, fs::Permissions::from_mode(0o000)),
        )?;
    }
    for (path, is_folder) in &plan.masked {
        let source = if *is_folder { &folder } else { &file };
        let done = clone_tree(source).and_then(|tree| {
            mount_setattr(tree.as_fd(), READ_ONLY | HARMLESS, None, false)?;
            attach(&tree, &inside(path))
        });
        at(path.display().to_string(), done)?;
    }
    at("masks", fs::remove_dir_all(&masks))
}

/// Makes the new root the root, and the old one unreachable.
fn pivot() -> Result<(), MountError> {
    at("the private root", rustix::process::chdir(NEW))?;
    at("the private root", rustix::process::pivot_root(".", "."))?;
    at("the private root", unmount(".", UnmountFlags::DETACH))?;
    at("the private root", rustix::process::chdir("/"))
}

/// Keeps what is mounted from here on from reaching the host's namespace.
pub(crate) fn keep_private() -> io::Result<()> {
    let propagation = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    Ok(mount_change("/", propagation)?)
}

/// Whether this process may mount at all: AppArmor lets a user namespace be made whose
/// capabilities are void, so only an attempt tells.
pub(crate) fn can_mount() -> Result<(), Errno> {
    mount("tmpfs", NEW, "tmpfs", MountFlags::empty(), None::<&CStr>)?;
    mkdirat(CWD, "/tmp/probe", Mode::RWXU)
}

/// Whether a fresh procfs may be mounted: not where a container has masked the outer one.
pub(crate) fn can_mount_proc() -> Result<(), Errno> {
    mount("proc", NEW, "proc", MountFlags::empty(), None::<&CStr>)
}
