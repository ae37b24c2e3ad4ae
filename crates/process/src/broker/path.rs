//! Resolves a path as the kernel does for the program that waits, one component at a time. What
//! comes out are descriptors: the act that follows uses them and not the path, so that it happens
//! exactly where the decision was made.

use super::tracee::{Status, Tracee};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, fstatfs, openat, readlinkat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Links in one path, as the kernel counts them.
const LINKS: usize = 40;
/// `PROC_SUPER_MAGIC` (statfs(2)).
const PROC: u64 = 0x9fa0;

/// Where a path leads.
#[derive(Debug)]
pub(super) enum Place {
    /// A name in a folder.
    Entry {
        folder: OwnedFd,
        name: OsString,
        /// What has the name, opened with O_PATH and not followed.
        found: Option<OwnedFd>,
        /// Whether the path ended in `/`: only a folder may be meant.
        slash: bool,
    },
    /// A folder that the path does not name (`.`, `/`, `..`), or what a descriptor of the
    /// program's means (`/proc/self/fd/1`).
    Object(OwnedFd),
}

/// A handle for looking and for walking on.
fn handle(folder: impl AsFd, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    openat(
        folder,
        name,
        OFlags::PATH | OFlags::CLOEXEC | flags,
        Mode::empty(),
    )
}

/// Resolves `path`, which begins at `folder` where it is relative. A link as the last component
/// is followed if `follow` is set.
pub(super) fn resolve(
    folder: impl FnOnce() -> Result<OwnedFd, Errno>,
    path: &OsStr,
    follow: bool,
    tracee: &Tracee,
) -> Result<Place, Errno> {
    if path.is_empty() {
        return Err(Errno::NOENT);
    }
    let root = || handle(CWD, OsStr::new("/"), OFlags::DIRECTORY);
    let absolute = path.as_bytes().starts_with(b"/");
    let mut current = if absolute { root()? } else { folder()? };
    let mut todo: VecDeque<OsString> = parts(path).collect();
    let mut slash = path.as_bytes().ends_with(b"/");
    let mut links = 0;
    while let Some(part) = todo.pop_front() {
        let last = todo.is_empty();
        if part == "." || part == ".." {
            current = handle(&current, &part, OFlags::DIRECTORY)?;
            continue;
        }
        let found = match handle(&current, &part, OFlags::NOFOLLOW) {
            Ok(found) => found,
            Err(Errno::NOENT) if last => {
                return Ok(Place::Entry {
                    folder: current,
                    name: part,
                    found: None,
                    slash,
                });
            }
            Err(errno) => return Err(errno),
        };
        let kind = kind_of(&found)?;
        if kind == FileType::Symlink && (!last || follow || slash) {
            links += 1;
            if links > LINKS {
                return Err(Errno::LOOP);
            }
            match of_process(&current, &part, tracee)? {
                Some(Special::Named(name)) => {
                    for part in parts(&name).collect::<Vec<_>>().into_iter().rev() {
                        todo.push_front(part);
                    }
                }
                Some(Special::Magic) => {
                    current = handle(&current, &part, OFlags::empty())?;
                    if last {
                        return Ok(Place::Object(current));
                    }
                }
                None => {
                    let target =
                        OsString::from_vec(readlinkat(&found, "", Vec::new())?.into_bytes());
                    if target.is_empty() {
                        return Err(Errno::NOENT);
                    }
                    if target.as_bytes().starts_with(b"/") {
                        current = root()?;
                    }
                    // A link to `x/` names a folder as well.
                    slash |= last && target.as_bytes().ends_with(b"/");
                    for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                        todo.push_front(part);
                    }
                }
            }
            continue;
        }
        if last {
            return Ok(Place::Entry {
                folder: current,
                name: part,
                found: Some(found),
                slash,
            });
        }
        if kind != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        current = found;
    }
    Ok(Place::Object(current))
}

fn parts(path: &OsStr) -> impl Iterator<Item = OsString> + '_ {
    path.as_bytes()
        .split(|&b| b == b'/')
        .filter(|part| !part.is_empty())
        .map(|part| OsStr::from_bytes(part).to_owned())
}

/// A link of /proc that means the process that reads it, or an object that no path names.
enum Special {
    Named(OsString),
    Magic,
}

/// Whether something lies on a procfs.
pub(super) fn is_proc(file: impl AsFd) -> Result<bool, Errno> {
    Ok(fstatfs(file)?.f_type.cast_unsigned() == PROC)
}

/// Links of /proc, which would otherwise mean the broker, or hand out with its authority what
/// belongs to another process.
fn of_process(folder: &OwnedFd, name: &OsStr, tracee: &Tracee) -> Result<Option<Special>, Errno> {
    if !is_proc(folder)? {
        return Ok(None);
    }
    let folder = shown(folder.as_fd())?;
    let status = tracee.status()?;
    let Ok(below) = folder.strip_prefix("/proc") else {
        return Err(Errno::ACCESS);
    };
    if below.as_os_str().is_empty() {
        return Ok(match name.as_bytes() {
            b"self" => Some(Special::Named(status.process.to_string().into())),
            b"thread-self" => Some(Special::Named(
                format!("{}/task/{}", status.process, status.thread).into(),
            )),
            // `mounts`, `net`: links to `self/…`.
            _ => None,
        });
    }
    match is_own(below, status) {
        true => Ok(Some(Special::Magic)),
        false => Err(Errno::ACCESS),
    }
}

/// Whether a path below /proc is in the program's own folder.
pub(super) fn is_own(below: &Path, status: Status) -> bool {
    let first = below.components().next();
    first.is_some_and(|first| {
        let first = first.as_os_str().as_bytes();
        first == status.process.to_string().as_bytes()
            || first == status.thread.to_string().as_bytes()
    })
}

/// What kind of file a descriptor is of.
pub(super) fn kind_of(file: impl AsFd) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode))
}

/// The path of a folder or file that is open, as the kernel knows it.
pub(super) fn shown(file: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let target = readlinkat(CWD, link, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}
