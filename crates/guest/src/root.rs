//! The root: the image, read-only, under what this session writes.
//!
//! Decision: the image is a read-only device and stays so whatever is root in here; what is written lies
//! in memory and is gone with the machine. Programs get a `/dev` of their own without the devices that
//! this process uses.

use rustix::fs::{CWD, Mode, OFlags, mkdir, mknodat, open, symlink};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind, mount_move};
use std::ffi::CStr;

/// Devices of programs: name, major, minor.
const DEVICES: [(&CStr, u32, u32); 6] = [
    (c"/new/dev/null", 1, 3),
    (c"/new/dev/zero", 1, 5),
    (c"/new/dev/full", 1, 7),
    (c"/new/dev/random", 1, 8),
    (c"/new/dev/urandom", 1, 9),
    (c"/new/dev/tty", 5, 0),
];

const PLAIN: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);
const BARE: MountFlags = PLAIN.union(MountFlags::NOEXEC);

/// Where the image's own device is found.
pub(crate) const IMAGE: &CStr = c"/dev/vda";

/// Makes a folder, unless it is there.
pub(crate) fn folder(path: &CStr, mode: u32) -> Result<(), Errno> {
    match mkdir(path, Mode::from_raw_mode(mode)) {
        Err(Errno::EXIST) => Ok(()),
        other => other,
    }
}

/// Makes an empty file, unless it is there.
fn empty(path: &CStr, mode: u32) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    open(path, flags, Mode::from_raw_mode(mode)).map(drop)
}

/// The kernel's own file systems, before there is a root.
pub(crate) fn begin() -> Result<(), Errno> {
    for path in [c"/proc", c"/sys", c"/dev", c"/image", c"/over", c"/new"] {
        folder(path, 0o755)?;
    }
    mount(c"proc", c"/proc", c"proc", BARE, None::<&CStr>)?;
    mount(c"sysfs", c"/sys", c"sysfs", BARE, None::<&CStr>)?;
    // The kernel mounts it itself where it finds a root.
    mount(
        c"dev",
        c"/dev",
        c"devtmpfs",
        MountFlags::NOSUID,
        None::<&CStr>,
    )
}

/// Mounts the image.
pub(crate) fn image() -> Result<(), Errno> {
    let flags = MountFlags::RDONLY | PLAIN;
    match mount(IMAGE, c"/image", c"erofs", flags, None::<&CStr>) {
        Err(Errno::INVAL | Errno::NODEV) => {
            mount(IMAGE, c"/image", c"squashfs", flags, None::<&CStr>)
        }
        other => other,
    }
}

/// Files that every session writes. They lie above the image from the beginning: to have the overlay
/// bring them up takes ten times as long, and two of them may be links of the image.
const OWN: [&CStr; 4] = [
    c"/over/upper/etc/hostname",
    c"/over/upper/etc/hosts",
    c"/over/upper/etc/resolv.conf",
    c"/over/upper/etc/machine-id",
];

/// Puts what this session writes over it.
pub(crate) fn overlay() -> Result<(), Errno> {
    let options = Some(c"mode=0755,size=75%");
    mount(c"over", c"/over", c"tmpfs", PLAIN, options)?;
    for (path, mode) in [
        (c"/over/upper", 0o755),
        (c"/over/work", 0o755),
        (c"/over/upper/etc", 0o755),
        (c"/over/upper/root", 0o700),
    ] {
        folder(path, mode)?;
    }
    for path in OWN {
        empty(path, 0o644)?;
    }
    let options = c"lowerdir=/image,upperdir=/over/upper,workdir=/over/work";
    mount(c"root", c"/new", c"overlay", PLAIN, Some(options))
}

/// What programs expect beside the image, and this binary where they may run it.
pub(crate) fn complete() -> Result<(), Errno> {
    for (path, mode) in [
        (c"/new/proc", 0o555),
        (c"/new/sys", 0o555),
        (c"/new/dev", 0o755),
    ] {
        folder(path, mode)?;
    }
    mount_move(c"/proc", c"/new/proc")?;
    // Nothing in here configures the machine: whoever could write here could take its driver from a
    // device, the channel's as well.
    mount_move(c"/sys", c"/new/sys")?;
    let held = MountFlags::BIND | MountFlags::RDONLY | BARE;
    rustix::mount::mount_remount(c"/new/sys", held, c"")?;
    let options = Some(c"mode=0755,size=64k,nr_inodes=64");
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount(c"dev", c"/new/dev", c"tmpfs", flags, options)?;
    for (path, major, minor) in DEVICES {
        let mode = Mode::from_raw_mode(0o666);
        let number = rustix::fs::makedev(major, minor);
        mknodat(
            CWD,
            path,
            rustix::fs::FileType::CharacterDevice,
            mode,
            number,
        )?;
    }
    for (target, path) in [
        (c"/proc/self/fd", c"/new/dev/fd"),
        (c"/proc/self/fd/0", c"/new/dev/stdin"),
        (c"/proc/self/fd/1", c"/new/dev/stdout"),
        (c"/proc/self/fd/2", c"/new/dev/stderr"),
        (c"pts/ptmx", c"/new/dev/ptmx"),
    ] {
        symlink(target, path)?;
    }
    folder(c"/new/dev/pts", 0o755)?;
    let options = Some(c"newinstance,ptmxmode=0666,mode=0620,gid=5");
    mount(c"devpts", c"/new/dev/pts", c"devpts", flags, options)?;
    folder(c"/new/dev/shm", 0o1777)?;
    mount(c"shm", c"/new/dev/shm", c"tmpfs", PLAIN, Some(c"mode=1777"))?;
    for (path, options) in [(c"/new/tmp", c"mode=1777"), (c"/new/run", c"mode=0755")] {
        folder(path, 0o755)?;
        mount(c"tmp", path, c"tmpfs", PLAIN, Some(options))?;
    }
    for (path, mode) in [
        (c"/new/run/lock", 0o1777),
        (c"/new/run/bailiwick", 0o755),
        (c"/new/run/bailiwick/share", 0o700),
    ] {
        folder(path, mode)?;
    }
    let place = c"/new/run/bailiwick/guest";
    empty(place, 0o755)?;
    mount_bind(c"/init", place)?;
    let flags = MountFlags::BIND | MountFlags::RDONLY | PLAIN;
    rustix::mount::mount_remount(place, flags, c"")
}

/// Makes it the root.
pub(crate) fn enter() -> Result<(), Errno> {
    rustix::process::chdir(c"/new")?;
    mount_move(c".", c"/")?;
    rustix::process::chroot(c".")?;
    rustix::process::chdir(c"/")
}
