//! Files in which git notes what it has begun, and which it writes where they are and reads again at once.
//! The program writes the file itself; when nobody has it open for writing any more, it is decided by what it
//! says, and put back to what it said before where it may not say that.

use super::act::Refused;
use super::rename::{content_of, replace};
use super::rules::Rules;
use crate::git::{self, Content};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, openat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::path::PathBuf;

/// A file that a program may be writing.
#[derive(Debug)]
pub(super) struct Watched {
    folder: OwnedFd,
    name: OsString,
    path: PathBuf,
    content: Content,
    rule: u32,
    /// What it said before; none where it is new.
    before: Option<Vec<u8>>,
    /// The file, opened for reading once it was there.
    file: OwnedFd,
}

/// What became of it.
pub(super) enum Seen {
    StillWritten(Watched),
    Done,
    Refused(Refused),
}

impl Watched {
    /// What a file says before it is opened for writing; none where it is not there.
    pub(super) fn before(
        found: Option<&OwnedFd>,
        content: Content,
    ) -> Result<Option<Vec<u8>>, Errno> {
        found
            .map(|found| {
                super::rename::read(found, content.limit())?
                    .map(|(text, _)| text)
                    .ok_or(Errno::INVAL)
            })
            .transpose()
    }

    /// Watches a file that was opened for writing just now.
    pub(super) fn new(
        (folder, name): (OwnedFd, OsString),
        path: PathBuf,
        content: Content,
        rule: u32,
        before: Option<Vec<u8>>,
        opened: &OwnedFd,
    ) -> Result<Self, Errno> {
        let link = format!("/proc/self/fd/{}", opened.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(CWD, link, flags, Mode::empty())?;
        Ok(Self {
            folder,
            name,
            path,
            content,
            rule,
            before,
            file,
        })
    }

    /// Decides it where nobody writes it any more, or nobody can (`over`).
    pub(super) fn look(self, rules: &Rules, over: bool) -> Seen {
        if !over && self.is_open_for_writing() {
            return Seen::StillWritten(self);
        }
        let (Ok(own), Ok(named)) = (
            fstat(&self.file),
            statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW),
        ) else {
            return Seen::Done;
        };
        if (own.st_dev, own.st_ino) != (named.st_dev, named.st_ino) {
            return Seen::Done;
        }
        let file = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        let path = rules.of_policy(&self.path);
        let checked = content_of(&file, self.content.limit())
            .map_err(|errno| errno.to_string())
            .and_then(|text| {
                git::check(self.content, b"", &text, &rules.site(&path)).map(|_| text)
            });
        let mode = Mode::from_raw_mode(named.st_mode & 0o777);
        match checked {
            // Whoever has it open still, in another sandbox maybe, writes to what nobody reads.
            Ok(text) => match replace(&self.folder, &self.name, &text, mode) {
                Ok(()) => Seen::Done,
                Err(errno) => {
                    let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
                    Seen::Refused(Refused::by(self.rule, &self.path, errno.to_string()))
                }
            },
            Err(reason) => {
                let _ = match &self.before {
                    Some(before) => replace(&self.folder, &self.name, before, mode),
                    None => unlinkat(&self.folder, &self.name, AtFlags::empty()),
                };
                Seen::Refused(Refused::by(self.rule, &self.path, reason))
            }
        }
    }

    /// Whether anybody has the file open for writing: then the kernel gives no lease for reading (fcntl(2)).
    fn is_open_for_writing(&self) -> bool {
        crate::kernel::is_open_for_writing(&self.file)
    }
}
