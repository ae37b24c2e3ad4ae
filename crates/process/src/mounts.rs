//! Builds the private root in the sandbox's own mount namespace and moves into it.
//!
//! Order matters: the new root stands where nothing of the host is needed any more, it is complete
//! before it is entered, and the old one is gone before any code of the sandbox runs.

use crate::identity::Identity;
use crate::kernel::mount_setattr;
use crate::monitor;
use crate::plan::{Access, Bind, Mask, Plan};
use crate::setup::SetUp;
use crate::skeleton::{Content, FOLDERS, Skeleton, runtime_folder};
use crate::switches::{Layer, without};
use crate::watch::INODE;
use bailiwick_sandbox::TrustFiles;
use bailiwick_sandbox::trust::BUNDLE;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat2};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, mount_remount, move_mount, open_tree, unmount,
};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Where the new root is built; only inside the new mount namespace, and only until it is
/// entered. Every machine has the folder, and no sandbox is given any of the host's `/proc`.
const NEW: &str = "/proc";
/// Devices that every program may expect.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Files that tell of the keys in the kernel of whoever this is outside.
const KEYS: [&str; 2] = ["/proc/keys", "/proc/key-users"];
/// Sources of masks, below the new root; removed when every mask is in place.
const MASKS: &str = "/.masks";

pub(crate) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
pub(crate) const HARMLESS: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// What the mount of a file or folder of the host has. `shown` says whether it is one that a monitor
/// shows.
fn attributes(access: Access, shown: bool) -> u64 {
    let harmless = match access {
        _ if without(Layer::NoSuid) => 0,
        Access::Device => libc::MOUNT_ATTR_NOSUID,
        _ => HARMLESS,
    };
    let read_only = access == Access::Read && !without(Layer::ReadOnly);
    harmless | if read_only { READ_ONLY } else { 0 } | if shown { monitor::NO_EXEC } else { 0 }
}

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
pub(crate) fn inside(path: &Path) -> PathBuf {
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
pub(crate) fn open_without_links(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat2(
        CWD,
        path,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    )?)
}

pub(crate) fn attach(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    let place = open_without_links(path)?;
    Ok(move_mount(tree.as_fd(), c"", place.as_fd(), c"", flags)?)
}

/// Attaches a file's mount to a new file of the root's own.
fn attach_new(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    let place = fs::File::create_new(path)?;
    Ok(move_mount(tree.as_fd(), c"", place.as_fd(), c"", flags)?)
}

/// Makes a folder and those above it; what exists stays as it is.
pub(crate) fn make_folders(path: &Path) -> io::Result<()> {
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

/// Begins the root with what every sandbox has.
pub(crate) fn begin(identity: Identity) -> Result<(), MountError> {
    at("the mount namespace", keep_private())?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC | MountFlags::NODEV;
    if without(Layer::Mounts) {
        return match without(Layer::Pid) {
            true => Ok(()),
            false => at("/proc", mount("proc", NEW, "proc", flags, None::<&CStr>)),
        };
    }
    let of_host = match without(Layer::Pid) {
        true => Some(at("/proc", clone_tree(Path::new(NEW)))?),
        false => None,
    };
    let mut devices = Vec::with_capacity(DEVICES.len());
    for name in DEVICES {
        let path = Path::new("/dev").join(name);
        devices.push((name, at(path.display().to_string(), clone_tree(&path))?));
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    at(
        "the private root",
        mount("tmpfs", NEW, "tmpfs", flags, Some(c"mode=0755,size=25%")),
    )?;
    for (folder, mode) in FOLDERS {
        at(folder, make_folder(Path::new(folder), mode, None))?;
    }
    let runtime = runtime_folder(identity);
    at("/run/user", make_folder(&runtime, 0o700, Some(identity)))?;
    for (name, tree) in devices {
        let path = inside(&Path::new("/dev").join(name));
        at(format!("/dev/{name}"), attach_new(&tree, &path))?;
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
    // The kernel has some thousands for the whole machine.
    let options = c"newinstance,ptmxmode=0666,mode=0620,max=256";
    let place = inside(Path::new("/dev/pts"));
    at(
        "/dev/pts",
        mount("devpts", place, "devpts", flags, Some(options)),
    )?;
    let flags = flags | MountFlags::NODEV;
    let place = inside(Path::new("/proc"));
    at(
        "/proc",
        match of_host {
            Some(tree) => attach(&tree, &place),
            None => mount("proc", place, "proc", flags, None::<&CStr>).map_err(io::Error::from),
        },
    )?;
    for path in KEYS {
        at(path, empty(Path::new(path)))?;
    }
    Ok(())
}

/// Has a file of the new root read as an empty one, if the kernel has it at all.
fn empty(path: &Path) -> io::Result<()> {
    match attach(&clone_tree(Path::new("/dev/null"))?, &inside(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Completes the root that [`begin`] has begun and makes it the root. The old root is still
/// there, at the working directory, until [`detach_old_root`]. `idmaps` waits for the namespaces of the plan's
/// owners, where it has any.
pub(crate) fn enter(
    set_up: &SetUp,
    idmaps: impl FnOnce() -> io::Result<Vec<OwnedFd>>,
    identity: Identity,
) -> Result<(), MountError> {
    let idmaps = || match set_up.owners.is_empty() {
        true => Ok(Vec::new()),
        false => at("the owners of files", idmaps()),
    };
    if without(Layer::Mounts) {
        return idmaps().map(drop);
    }
    let (plan, skeleton) = (&set_up.plan, &set_up.skeleton);
    if let Some(bytes) = set_up.bounds.memory {
        limit_size(bytes)?;
    }
    let share = plan.shown.as_ref().map(|shown| shown.share.as_path());
    let mut trees = Vec::with_capacity(plan.binds.len());
    for bind in plan.mounts() {
        let name = || bind.source.display().to_string();
        let tree = match bind.access == Access::Device && identity.is_by_root() {
            true => monitor::device(&bind.source, identity),
            false => clone_tree(&bind.source),
        };
        let tree = at(name(), tree)?;
        if bind.owner.is_none() {
            at(name(), restrict_tree(bind, &tree, share, None))?;
        }
        trees.push(tree);
    }
    let idmaps = idmaps()?;
    let idmaps: BTreeMap<_, _> = set_up.owners.iter().zip(&idmaps).collect();
    for (bind, tree) in plan.mounts().zip(&trees) {
        let Some(owner) = &bind.owner else {
            continue;
        };
        let unknown = || io::Error::from_raw_os_error(libc::EPROTO);
        let idmap = idmaps.get(owner).ok_or_else(unknown);
        let name = || bind.source.display().to_string();
        let idmap = Some(at(name(), idmap)?.as_fd());
        at(name(), restrict_tree(bind, tree, share, idmap))?;
    }
    at(
        skeleton.home.display().to_string(),
        make_folder(&skeleton.home, 0o755, Some(identity)),
    )?;
    files(skeleton, identity)?;
    if let Some(share) = share {
        at(share.display().to_string(), monitor::begin(share))?;
    }
    for link in &plan.links {
        let path = inside(&link.at);
        if let Some(parent) = path.parent() {
            at(link.at.display().to_string(), make_folders(parent))?;
        }
        // A folder of the skeleton may stand in its place already.
        let _ = symlink(&link.target, &path);
    }
    for (bind, tree) in plan.mounts().zip(&trees) {
        let path = inside(&bind.at);
        at(
            bind.at.display().to_string(),
            make_target(&path, bind.folder),
        )?;
        at(bind.at.display().to_string(), attach(tree, &path))?;
    }
    drop(trees);
    for content in &skeleton.covered {
        cover(&content.path, &content.bytes)?;
    }
    if let Some(trust) = &skeleton.trust {
        authorities(trust)?;
    }
    restrict(plan)?;
    if let Some(share) = share {
        at(share.display().to_string(), monitor::close(share))?;
    }
    at("the private root", rustix::process::chdir(NEW))?;
    at("the private root", rustix::process::pivot_root(".", "."))
}

/// Gives a tree that is mounted nowhere yet the attributes of its bind, in a plan that shows a monitor's `share`.
fn restrict_tree(
    bind: &Bind,
    tree: &OwnedFd,
    share: Option<&Path>,
    idmap: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let shown = share.is_some_and(|share| bind.at.starts_with(share));
    let set = attributes(bind.access, shown);
    mount_setattr(tree.as_fd(), set, idmap, true)
}

/// Makes the old root unreachable; then the kernel waits until no CPU looks at it any more, which
/// is why this is a step of its own.
pub(crate) fn detach_old_root() -> Result<(), MountError> {
    if without(Layer::Mounts) {
        return Ok(());
    }
    at("the private root", unmount(".", UnmountFlags::DETACH))
}

/// The root's files take memory, and no more than the policy gives; their names do as well.
fn limit_size(bytes: u64) -> Result<(), MountError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    // The product's own files need some hundred.
    let names = (bytes / INODE).max(4096);
    let options = CString::new(format!("size={bytes},nr_inodes={names}")).unwrap_or_default();
    at("the private root", mount_remount(NEW, flags, &options))
}

/// Makes a folder of the new root and those above it.
fn make_folder(folder: &Path, mode: u32, owner: Option<Identity>) -> io::Result<()> {
    let path = inside(folder);
    fs::DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(&path)?;
    give(&path, owner)
}

/// Gives a path of the new root to the sandboxed program; a user's is his already.
fn give(path: &Path, owner: Option<Identity>) -> io::Result<()> {
    match owner {
        Some(identity) if identity.is_by_root() => {
            let (uid, gid) = identity.outside();
            std::os::unix::fs::chown(path, Some(uid), Some(gid))
        }
        _ => Ok(()),
    }
}

/// The product's own files.
fn files(skeleton: &Skeleton, identity: Identity) -> Result<(), MountError> {
    for Content { path, bytes } in &skeleton.files {
        let file = inside(path);
        let owner = path.starts_with(&skeleton.home).then_some(identity);
        let made = file
            .parent()
            .map_or(Ok(()), make_folders)
            .and_then(|()| fs::write(&file, bytes))
            .and_then(|()| give(&file, owner));
        at(path.display().to_string(), made)?;
    }
    Ok(())
}

/// What programs trust: in a place of its own, and over what they trust outside.
fn authorities(trust: &TrustFiles) -> Result<(), MountError> {
    let bundle = Path::new(BUNDLE);
    cover(bundle, &trust.bundle)?;
    for (paths, content) in [
        (&trust.over, &trust.bundle),
        (&trust.over_java, &trust.java),
    ] {
        // What the policy does not show is not needed.
        for path in paths.iter().filter(|path| inside(path).exists()) {
            cover(path, content)?;
        }
    }
    Ok(())
}

/// Puts a file of the product over one of the host, where the host has one.
fn cover(path: &Path, content: &[u8]) -> Result<(), MountError> {
    let name = || path.display().to_string();
    let target = inside(path);
    let source = inside(Path::new("/run/.cover"));
    let readable = fs::Permissions::from_mode(0o644);
    let written = fs::write(&source, content).and_then(|()| fs::set_permissions(&source, readable));
    at(name(), written)?;
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
    if without(Layer::Protection) {
        return Ok(());
    }
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
    for Mask {
        at: path,
        folder: is_folder,
    } in &plan.masked
    {
        let source = if *is_folder { &folder } else { &file };
        let done = clone_tree(source).and_then(|tree| {
            mount_setattr(tree.as_fd(), READ_ONLY | HARMLESS, None, false)?;
            attach(&tree, &inside(path))
        });
        at(path.display().to_string(), done)?;
    }
    at("masks", fs::remove_dir_all(&masks))
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
    mkdirat(CWD, "/proc/probe", Mode::RWXU)
}

/// Whether a fresh procfs may be mounted: not where a container has masked the outer one.
pub(crate) fn can_mount_proc() -> Result<(), Errno> {
    mount("proc", NEW, "proc", MountFlags::empty(), None::<&CStr>)
}
