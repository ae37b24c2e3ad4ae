//! Files in which git notes what it has begun, and which it writes where they are and reads again at once.
//! The program writes the file itself; when nobody has it open for writing any more, it is decided by what it
//! says, and put back to what it said before where it may not say that.

use super::act::Refused;
use super::rename::{draft, read, replace};
use super::rules::Rules;
use crate::git::{self, Content};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
    /// Since when it says what it may not, while it is being written.
    objected: Option<Instant>,
}

/// So long a file may say what it may not while somebody has it open for writing: it may be a part of what is meant.
const UNFINISHED: Duration = Duration::from_secs(1);

/// So many bytes are shown of what a file said and could not be put back.
const SHOWN: usize = 200;

/// What became of it.
pub(super) enum Seen {
    StillWritten(Watched),
    Done,
    Refused(Refused),
    /// The same of one that a program has open still: it might never close it.
    Obstinate(Refused),
}

impl Watched {
    /// What a file says before it is opened for writing; none where it is not there.
    pub(super) fn before(
        found: Option<&OwnedFd>,
        content: Content,
    ) -> Result<Option<Vec<u8>>, Errno> {
        found
            .map(|found| {
                read(found, content.limit())?
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
            objected: None,
        })
    }

    /// Where it is, as a path inside.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The refusal of it for a reason.
    pub(super) fn refused(&self, reason: &str) -> Refused {
        Refused::by(self.rule, &self.path, reason)
    }

    /// Decides it where nobody writes it any more, or nobody can (`over`); and where it says for long, or in a way
    /// that no more text can mend, what it may not.
    pub(super) fn look(mut self, rules: &Rules, over: bool) -> Seen {
        let open = !over && self.is_open_for_writing();
        let (Ok(own), Ok(named)) = (
            fstat(&self.file),
            statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW),
        ) else {
            return Seen::Done;
        };
        if (own.st_dev, own.st_ino) != (named.st_dev, named.st_ino) {
            return match open {
                true => Seen::StillWritten(self),
                false => Seen::Done,
            };
        }
        let path = rules.of_policy(&self.path);
        let checked = checked(&self.file, self.content, rules, &path);
        if open && !self.is_objected_for_long(&checked) {
            return Seen::StillWritten(self);
        }
        let mode = Mode::from_raw_mode(named.st_mode & 0o777);
        let before = self.before.as_deref();
        match settle(&self.folder, &self.name, checked, before, mode) {
            Ok(()) => Seen::Done,
            Err(reason) if open => Seen::Obstinate(self.refused(&reason)),
            Err(reason) => Seen::Refused(self.refused(&reason)),
        }
    }

    /// Whether a file that is being written says what it may not, and more text would not mend it.
    fn is_objected_for_long(&mut self, checked: &Result<Vec<u8>, String>) -> bool {
        if checked.is_ok() {
            self.objected = None;
            return false;
        }
        let since = *self.objected.get_or_insert_with(Instant::now);
        let text = || Some(read(&self.file, self.content.limit()).ok()??.0);
        let hopeless = |text: Vec<u8>| git::is_hopeless(self.content, &text);
        text()
            .and_then(hopeless)
            .unwrap_or(since.elapsed() > UNFINISHED)
    }

    /// Whether anybody has the file open for writing: then the kernel gives no lease for reading (fcntl(2)).
    fn is_open_for_writing(&self) -> bool {
        crate::kernel::is_open_for_writing(&self.file)
    }
}

/// What the file says, where it may.
pub(super) fn checked(
    file: &OwnedFd,
    content: Content,
    rules: &Rules,
    path: &Path,
) -> Result<Vec<u8>, String> {
    let (text, _) = read(file, content.limit())
        .map_err(|errno| errno.to_string())?
        .ok_or_else(|| format!("it is no file of at most {} bytes", content.limit()))?;
    let instead = git::check(content, b"", &text, &rules.site(path))?;
    Ok(instead.unwrap_or(text))
}

/// Puts a copy in the place of a file that may say what it says (whoever has the file open still, in another
/// sandbox maybe, writes to what nobody reads), and what was there before in the place of another.
///
/// # Errors
/// Why there is no copy: then it was moved to a name beside it that means nothing to git. Why it may not say that:
/// where nothing was there before, or that cannot be put back, it is gone.
pub(super) fn settle(
    folder: &OwnedFd,
    name: &OsStr,
    checked: Result<Vec<u8>, String>,
    before: Option<&[u8]>,
    mode: Mode,
) -> Result<(), String> {
    match (checked, before) {
        (Ok(text), _) => replace(folder, name, &text, mode).map_err(|errno| {
            let aside = draft();
            match renameat(folder, name, folder, &*aside) {
                Ok(()) => format!("no copy of it could be made ({errno}); it was moved to {aside}"),
                Err(_) => format!("no copy of it could be made ({errno})"),
            }
        }),
        (Err(reason), Some(before)) => {
            let Err(errno) = replace(folder, name, before, mode) else {
                return Err(reason);
            };
            let _ = unlinkat(folder, name, AtFlags::empty());
            let text = String::from_utf8_lossy(&before[..before.len().min(SHOWN)]);
            let lost = format!("what it said before could not be put back ({errno}): {text:?}");
            Err(format!("{reason}; {lost}"))
        }
        (Err(reason), None) => {
            let _ = unlinkat(folder, name, AtFlags::empty());
            Err(reason)
        }
    }
}
