//! The machine's own disk, which a session has instead of the host's folder: one folder of its file
//! system is the workspace.

use crate::root::folder;
use crate::settle::path_of;
use bailiwick_channel::schema::Shown;
use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mknodat, open, unlink};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;

/// The second disk, as the kernel names it; the first is the image.
const NUMBER: &str = "/sys/block/vdb/dev";
/// Its device, while it is mounted: programs have none.
const DEVICE: &CStr = c"/dev/.disk";
/// Where its file system is mounted until the folder has its place.
const PLACE: &CStr = c"/run/bailiwick/disk";
/// The folder of the file system that is the workspace.
const FOLDER: &CStr = c"/run/bailiwick/disk/workspace";

// linux/fs.h
const BLKFLSBUF: libc::c_ulong = 0x1261;

/// Has the disk's folder appear at its path.
pub(crate) fn show(shown: &Shown) -> io::Result<()> {
    let number = fs::read_to_string(NUMBER)?;
    let parts = number.trim().split_once(':');
    let parts = parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (major, minor) = parts.ok_or(Errno::NODEV)?;
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(
        CWD,
        DEVICE,
        FileType::BlockDevice,
        mode,
        makedev(major, minor),
    )?;
    let mounted = forget_contents().and_then(|()| {
        folder(PLACE, 0o755)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOATIME;
        // What the file system has not initialised it does when it needs it, and not in the background.
        let options = Some(c"noinit_itable,discard");
        Ok(mount(DEVICE, PLACE, c"ext4", flags, options)?)
    });
    unlink(DEVICE)?;
    mounted?;
    folder(FOLDER, 0o755)?;
    let path = path_of(&shown.path);
    fs::create_dir_all(path)?;
    mount_bind(FOLDER, path)?;
    // What nothing leads to is not reached by its path either.
    unmount(PLACE, UnmountFlags::DETACH)?;
    Ok(rustix::fs::rmdir(PLACE)?)
}

/// What the kernel has read of the disk when it found it may be another's: a template's was empty.
fn forget_contents() -> io::Result<()> {
    let disk = open(DEVICE, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    // SAFETY: BLKFLSBUF takes no argument.
    match unsafe { libc::ioctl(disk.as_raw_fd(), BLKFLSBUF as _) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
