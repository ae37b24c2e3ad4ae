//! Acts that many rows are made of.

use crate::field::{Field, SECRET, WRITTEN, c};
use crate::sys::{Word, call};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

/// That an act had no effect.
pub(crate) fn nothing(why: &str) -> io::Error {
    io::Error::other(why.to_owned())
}

/// Opens a path with one call; of the current folder, if it is relative.
pub(crate) fn open(path: impl AsRef<Path>, flags: i32) -> io::Result<OwnedFd> {
    open_at(libc::AT_FDCWD, path, flags, 0)
}

pub(crate) fn open_at(
    folder: i32,
    path: impl AsRef<Path>,
    flags: i32,
    mode: i64,
) -> io::Result<OwnedFd> {
    let fd = call(
        libc::SYS_openat,
        &mut [
            Word::N(folder.into()),
            Word::T(&c(path)),
            Word::N(i64::from(flags | libc::O_CLOEXEC)),
            Word::N(mode),
        ],
    )?;
    Ok(owned(fd))
}

/// A descriptor that a call has just returned.
pub(crate) fn owned(fd: i64) -> OwnedFd {
    // SAFETY: the callers pass what the kernel has just returned as a new descriptor.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}

/// That a descriptor yields the secret.
pub(crate) fn is_secret(fd: OwnedFd) -> io::Result<()> {
    let mut bytes = vec![0; SECRET.len()];
    File::from(fd).read_exact(&mut bytes)?;
    match bytes == SECRET.as_bytes() {
        true => Ok(()),
        false => Err(nothing("it holds something else")),
    }
}

/// Reads the secret at a path.
pub(crate) fn read(path: impl AsRef<Path>) -> io::Result<()> {
    is_secret(open(path, libc::O_RDONLY)?)
}

/// Writes over a file that exists.
pub(crate) fn overwrite(path: impl AsRef<Path>) -> io::Result<()> {
    put(open(path, libc::O_WRONLY | libc::O_TRUNC)?)
}

/// Writes into a descriptor.
pub(crate) fn put(fd: OwnedFd) -> io::Result<()> {
    io::Write::write_all(&mut File::from(fd), WRITTEN.as_bytes())
}

/// Makes a file.
pub(crate) fn create(path: impl AsRef<Path>) -> io::Result<()> {
    put(open_at(
        libc::AT_FDCWD,
        path,
        libc::O_CREAT | libc::O_WRONLY,
        0o644,
    )?)
}

/// A file of the workspace that only this row uses, with what an escape writes in it.
pub(crate) fn prepared(field: &Field, name: &str) -> io::Result<std::path::PathBuf> {
    let path = field.own(name);
    create(&path)?;
    Ok(path)
}

/// A call with one path.
pub(crate) fn on(number: i64, path: impl AsRef<Path>, rest: &[i64]) -> io::Result<()> {
    let path = c(path);
    let mut words = vec![Word::T(&path)];
    words.extend(rest.iter().map(|n| Word::N(*n)));
    call(number, &mut words).map(drop)
}

/// `*at` calls with one path at the current folder.
pub(crate) fn at(number: i64, path: impl AsRef<Path>, rest: &[i64]) -> io::Result<()> {
    let path = c(path);
    let mut words = vec![Word::N(HERE), Word::T(&path)];
    words.extend(rest.iter().map(|n| Word::N(*n)));
    call(number, &mut words).map(drop)
}

/// `AT_FDCWD`.
pub(crate) const HERE: i64 = libc::AT_FDCWD as i64;

/// Renames with flags.
pub(crate) fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>, flags: u32) -> io::Result<()> {
    call(
        libc::SYS_renameat2,
        &mut [
            Word::N(HERE),
            Word::T(&c(from)),
            Word::N(HERE),
            Word::T(&c(to)),
            Word::N(flags.into()),
        ],
    )
    .map(drop)
}

/// Gives a file a second name.
pub(crate) fn link(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    call(
        libc::SYS_linkat,
        &mut [
            Word::N(HERE),
            Word::T(&c(from)),
            Word::N(HERE),
            Word::T(&c(to)),
            Word::N(0),
        ],
    )
    .map(drop)
}

/// Makes a symbolic link at `at`.
pub(crate) fn symlink(target: impl AsRef<Path>, at: impl AsRef<Path>) -> io::Result<()> {
    call(
        libc::SYS_symlinkat,
        &mut [Word::T(&c(target)), Word::N(HERE), Word::T(&c(at))],
    )
    .map(drop)
}

/// The name of a descriptor in /proc.
pub(crate) fn again(fd: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}
