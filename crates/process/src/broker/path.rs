//! Resolves a path as the kernel does for the program that waits, one component at a time. What
//! comes out are descriptors: the act that follows uses them and not the path, so that it happens
//! exactly where the decision was made.

use super::linked::entry_of;
use super::tracee::{Status, Tracee};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    CWD, FileType, Mode, OFlags, ResolveFlags, fstat, fstatfs, openat, openat2, readlinkat,
};
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
    let absolute = path.as_bytes().starts_with(b"/");
    let start = if absolute { None } else { Some(folder()?) };
    let (current, rest) = match above_last(start.as_ref(), path) {
        Some(last) => last,
        None => (start.map_or_else(root, Ok)?, path),
    };
    walk(current, rest, follow, tracee)
}

fn root() -> Result<OwnedFd, Errno> {
    handle(CWD, OsStr::new("/"), OFlags::DIRECTORY)
}

/// The same from a folder on, wherever the path begins.
fn walk(mut current: OwnedFd, path: &OsStr, follow: bool, tracee: &Tracee) -> Result<Place, Errno> {
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
                        return Ok(by_name(&current)?.unwrap_or(Place::Object(current)));
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

/// The name of a file that a descriptor leads to: what is decided by names holds however the file is reached. None of
/// what is no plain file, has no name any more or several, or has one that leads to another file from here.
fn by_name(object: &OwnedFd) -> Result<Option<Place>, Errno> {
    let stat = fstat(object)?;
    let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !plain || stat.st_nlink != 1 {
        return Ok(None);
    }
    let path = shown(object.as_fd())?;
    let Some((folder, name)) = entry_of(&path, &stat).filter(|_| path.is_absolute()) else {
        return Ok(None);
    };
    Ok(Some(Place::Entry {
        folder,
        name: name.to_owned(),
        found: Some(rustix::io::fcntl_dupfd_cloexec(object, 3)?),
        slash: false,
    }))
}

/// The folder in which the last part of a path is a name, and that part, where no link and no `.` or `..` stands before
/// it: one call finds it. None where there is none or it cannot be had so, for whatever reason.
fn above_last<'p>(start: Option<&OwnedFd>, path: &'p OsStr) -> Option<(OwnedFd, &'p OsStr)> {
    let bytes = path.as_bytes();
    let end = bytes.iter().rposition(|&byte| byte != b'/')? + 1;
    let slash = bytes[..end].iter().rposition(|&byte| byte == b'/')?;
    let above = &bytes[..slash];
    let mut parts = above.split(|&byte| byte == b'/');
    if above.is_empty() || parts.any(|part| matches!(part, b"." | b"..")) {
        return None;
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY;
    let start = start.map_or(CWD, AsFd::as_fd);
    let links = ResolveFlags::NO_SYMLINKS;
    let folder = openat2(start, above, flags, Mode::empty(), links).ok()?;
    Some((folder, OsStr::from_bytes(&bytes[slash..])))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Where a path leads, as far as it can be compared.
    fn seen(place: Result<Place, Errno>) -> Result<(u64, String, Option<u64>, bool), Errno> {
        let number = |file: &OwnedFd| fstat(file).unwrap().st_ino;
        Ok(match place? {
            Place::Entry {
                folder,
                name,
                found,
                slash,
            } => {
                let name = name.into_string().unwrap();
                (number(&folder), name, found.as_ref().map(number), slash)
            }
            Place::Object(object) => (number(&object), String::new(), None, false),
        })
    }

    #[test]
    fn one_call_leads_where_a_walk_leads() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b/c")).unwrap();
        fs::write(top.join("a/file"), "").unwrap();
        symlink("b", top.join("a/link")).unwrap();
        symlink(&top, top.join("a/b/up")).unwrap();
        symlink("loop", top.join("a/loop")).unwrap();
        symlink("nowhere", top.join("a/hangs")).unwrap();
        let tracee = Tracee::new(
            rustix::thread::gettid()
                .as_raw_nonzero()
                .get()
                .cast_unsigned(),
        );
        let start = || handle(CWD, top.as_os_str(), OFlags::DIRECTORY);
        let mut both = 0;
        for tail in [
            "a",
            "a/",
            "a/b",
            "a//b/",
            "a/b/c/new",
            "a/b/new/",
            "a/file",
            "a/file/",
            "a/file/x",
            "a/link",
            "a/link/",
            "a/link/c",
            "a/b/up/a/b",
            "a/./b",
            "a/../a/b",
            "a/b/..",
            "a/b/.",
            "a/loop",
            "a/loop/x",
            "a/hangs",
            "a/hangs/x",
            "none/x",
            "/",
            "",
            "a/b/../../../x",
        ] {
            for path in [tail.to_owned(), format!("{}/{tail}", top.display())] {
                for follow in [false, true] {
                    let path = OsStr::new(&path);
                    let begin = match path.as_bytes().first() {
                        Some(b'/') => root(),
                        _ => start(),
                    };
                    let walked = walk(begin.unwrap(), path, follow, &tracee);
                    let found = resolve(start, path, follow, &tracee);
                    match path.is_empty() {
                        true => assert_eq!(seen(found), Err(Errno::NOENT)),
                        false => assert_eq!(seen(found), seen(walked), "{}", path.display()),
                    }
                    both += usize::from(above_last(start().ok().as_ref(), path).is_some());
                }
            }
        }
        assert!(both > 20, "{both} paths took the short way");
        assert!(above_last(None, OsStr::new("/proc/self/cwd/x")).is_none());
    }
}
