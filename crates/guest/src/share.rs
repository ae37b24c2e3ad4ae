//! The host's files: what this kernel's FUSE client asks goes to the host by a port of its own, and the
//! answers come back. The kernel does that itself (`images/kernel.patch`); nothing here is in between.

use rustix::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use rustix::fs::{Mode, OFlags, fstatfs, open};
use rustix::mount::{MountFlags, mount};
use std::ffi::{CStr, CString};
use std::io;

/// Sends a connection's requests to a port and takes the answers from it (`FUSE_DEV_IOC_RELAY`; the argument is
/// the port's descriptor).
const RELAY: libc::c_ulong = 0x4004_e540;
/// Waits until every notification that has arrived is in force (`FUSE_DEV_IOC_SETTLE`).
const SETTLE: libc::c_ulong = 0xe541;

/// What has to be opened while the machine's own devices are there.
#[derive(Debug)]
pub(crate) struct Doors {
    /// The port to the host.
    pub(crate) port: OwnedFd,
    /// The kernel's FUSE device.
    pub(crate) fuse: OwnedFd,
}

/// The files, mounted.
#[derive(Debug)]
pub(crate) struct Share {
    fuse: OwnedFd,
    root: OwnedFd,
}

impl Share {
    /// Mounts the host's files.
    pub(crate) fn mount(doors: Doors, at: &CStr) -> io::Result<Self> {
        let Doors { port, fuse } = doors;
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other",
            fuse.as_raw_fd()
        );
        let options = CString::new(options)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount(c"share", at, c"fuse", flags, Some(options.as_c_str()))?;
        let number = port.as_raw_fd().cast_unsigned();
        // SAFETY: FUSE_DEV_IOC_RELAY reads an unsigned integer, which is live, and keeps a reference of its own to
        // the file that it names.
        match unsafe { libc::ioctl(fuse.as_raw_fd(), RELAY as _, &raw const number) } {
            0 => {}
            _ => return Err(io::Error::last_os_error()),
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(at, flags, Mode::empty())?;
        Ok(Self { fuse, root })
    }

    /// Waits until this kernel has heard of everything that was changed on the host before. Where the host's
    /// side is gone nothing is waited for.
    pub(crate) fn settle(&self) {
        // Whoever answers tells of changes first.
        if fstatfs(self.root.as_fd()).is_ok() {
            // SAFETY: `fuse` is owned and open, and the request takes no pointer.
            unsafe { libc::ioctl(self.fuse.as_raw_fd(), SETTLE as _) };
        }
    }
}
