//! The file behind a machine's own disk: made with an empty file system, and copied by what is used.

use crate::image::path_of_program;
use bailiwick_event::Failure;
use rustix::fs::{SeekFrom, copy_file_range, ioctl_ficlone, seek};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// The least disk, in bytes: what ext4 needs for a journal and something besides.
pub(crate) const LEAST: u64 = 16 << 20;

fn fault(path: &Path) -> impl Fn(io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| Failure::fault(format!("{path}: {error}"))
}

/// A file that only its owner reads, and that is not there yet.
pub(crate) fn create(path: &Path) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    options.open(path).map_err(fault(path))
}

/// Makes a disk with an empty file system. What nobody has written takes no room.
pub(crate) fn format(path: &Path, bytes: u64) -> Result<(), Failure> {
    if bytes < LEAST {
        return Err(Failure::usage(format!(
            "a disk of {bytes} bytes is too small\nhelp: give it {} MiB or more",
            LEAST >> 20
        )));
    }
    create(path)?.set_len(bytes).map_err(fault(path))?;
    let program = path_of_program("mke2fs").ok_or_else(|| {
        Failure::fault(
            "there is no mke2fs, by which a machine's disk is made\n  remedy: install it (Debian, \
             Ubuntu: apt-get install e2fsprogs), or run without --disk",
        )
    })?;
    let output = Command::new(program)
        // The guest initialises what it uses, and the file is sparse: what was not written is zero.
        .args(["-q", "-F", "-t", "ext4", "-m", "0", "-E"])
        .arg("lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=0:0")
        .arg(path)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::fault(format!("mke2fs: {error}")))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Failure::fault(format!(
            "the disk cannot be made: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}

/// Copies a file into an empty one: shared with it where the file system can do that, else only what is
/// not a hole.
pub(crate) fn copy(from: &File, to: &File) -> io::Result<()> {
    if ioctl_ficlone(to, from).is_ok() {
        return Ok(());
    }
    let length = from.metadata()?.len();
    to.set_len(length)?;
    let mut at = 0;
    while at < length {
        let begin = match seek(from, SeekFrom::Data(at)) {
            Ok(begin) => begin,
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let end = seek(from, SeekFrom::Hole(begin))?;
        copy_part(from, to, begin, end)?;
        at = end;
    }
    Ok(())
}

fn copy_part(from: &File, to: &File, begin: u64, end: u64) -> io::Result<()> {
    let (mut read, mut written) = (begin, begin);
    while read < end {
        let left = usize::try_from(end - read).unwrap_or(usize::MAX);
        match copy_file_range(from, Some(&mut read), to, Some(&mut written), left) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            // Two file systems, or one that cannot: by way of this process.
            Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                return pass_on(from, to, read, end);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn pass_on(from: &File, to: &File, mut at: u64, end: u64) -> io::Result<()> {
    let mut buffer = vec![0; 256 * 1024];
    while at < end {
        let most = usize::try_from(end - at)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let part = buffer.get_mut(..most).unwrap_or_default();
        let read = from.read_at(part, at)?;
        if read == 0 {
            break;
        }
        to.write_all_at(part.get(..read).unwrap_or_default(), at)?;
        at += read as u64;
    }
    Ok(())
}

/// Copies a disk's file; `to` is not there yet.
///
/// # Errors
/// One of the files, by its path.
pub fn copy_path(from: &Path, to: &Path) -> Result<(), Failure> {
    let source = File::open(from).map_err(fault(from))?;
    copy(&source, &create(to)?).map_err(fault(to))
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod tests;
