//! What the host says of this session, put into force: who the machine is, what time it is, and which of
//! the host's files appear.
//!
//! Decision: this happens after a restore as well as after a start, before any program of the session
//! runs, so that two copies of one machine share neither name nor randomness.

use crate::clock;
use crate::disk;
use crate::share::{self, Doors};
use bailiwick_channel::schema::{Setting, Share, Shown};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, mount_bind_recursive, unmount};
use std::ffi::{CStr, OsStr};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Where the share is mounted until its parts have their places.
const SHARE: &CStr = c"/run/bailiwick/share";

/// A step that failed.
#[derive(Debug)]
pub(crate) struct Unsettled {
    /// What could not be done.
    pub(crate) what: String,
    /// Why.
    pub(crate) error: io::Error,
}

fn step<T>(
    what: impl Into<String>,
    result: Result<T, impl Into<io::Error>>,
) -> Result<T, Unsettled> {
    result.map_err(|error| Unsettled {
        what: what.into(),
        error: error.into(),
    })
}

pub(crate) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Puts it into force; the host's files, where they come by `doors`.
pub(crate) fn settle(
    setting: &Setting,
    doors: &mut Option<Doors>,
) -> Result<Option<share::Share>, Unsettled> {
    step("the clock", clock::set(setting.now))?;
    step("randomness", clock::stir(&setting.entropy))?;
    step(
        "the host name",
        rustix::system::sethostname(&setting.hostname),
    )?;
    for (path, contents) in &setting.files {
        let path = path_of(path);
        step(path.display().to_string(), write(path, contents))?;
    }
    step(
        "/etc/machine-id",
        write(Path::new("/etc/machine-id"), &setting.machine),
    )?;
    let share = step("the host's files", show(setting, doors))?;
    for (from, to) in &setting.links {
        let (from, to) = (path_of(from), path_of(to));
        // What the image has there already is the image's.
        if from.symlink_metadata().is_err() {
            step(from.display().to_string(), link(from, to))?;
        }
    }
    Ok(share)
}

fn link(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(parent) = from.parent() {
        fs::create_dir_all(parent)?;
    }
    std::os::unix::fs::symlink(to, from)
}

/// Replaces a file, which may be a link of the image.
fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    match path.symlink_metadata() {
        // What lies above the image is written in place: that is a tenth of replacing it.
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
        }
    }
    fs::write(path, contents)
}

/// A descriptor by which what was written to the host's files is known to have arrived there.
pub(crate) fn shared(setting: &Setting) -> Option<OwnedFd> {
    let shown = setting.shown.first()?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path_of(&shown.path), flags, Mode::empty()).ok()
}

/// Has the host's files appear at their places.
fn show(setting: &Setting, doors: &mut Option<Doors>) -> io::Result<Option<share::Share>> {
    if setting.shown.is_empty() {
        return Ok(None);
    }
    let share = match setting.share {
        Share::None => return Ok(None),
        Share::Disk => {
            setting.shown.iter().try_for_each(disk::show)?;
            return Ok(None);
        }
        Share::Fuse => {
            let doors = doors.take().ok_or(Errno::BUSY)?;
            share::Share::mount(doors, SHARE)?
        }
    };
    let base = path_of(SHARE.to_bytes());
    for shown in &setting.shown {
        place(base, shown)?;
    }
    // What nothing leads to is not reached by its path either.
    unmount(SHARE, UnmountFlags::DETACH)?;
    Ok(Some(share))
}

fn place(base: &Path, shown: &Shown) -> io::Result<()> {
    let path = path_of(&shown.path);
    let below = path.strip_prefix("/").unwrap_or(path);
    if shown.folder {
        fs::create_dir_all(path)?;
    } else {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        drop(rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))?);
    }
    Ok(mount_bind_recursive(base.join(below), path)?)
}
