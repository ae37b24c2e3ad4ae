//! Entries become files again, below one folder: no link on the way is followed, what is there is
//! replaced whole or not at all, and what was changed by somebody else since is left alone.

use crate::compare::{Listing, Room};
use crate::entry::{Entry, Kind, PERMISSIONS};
use crate::stream::{Part, Reader};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, Timespec, Timestamps, fchmod, fstat, futimens, mkdirat,
    open, openat, readlinkat, renameat, renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// It is as it was sent.
    Done,
    /// What is there is not what was there before, and was left.
    Conflict,
    /// It could not be made; why.
    Refused(i32),
    /// It could not be read where it comes from; why.
    Unread(i32),
}

/// What became of one entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Its path below the folder.
    pub path: Vec<u8>,
    /// What became of it.
    pub what: What,
}

/// How many names are tried for what is made beside its place: a process that was ended may have left
/// one, and processes have the same numbers again.
const TRIES: usize = 1000;

/// Makes files of entries.
#[derive(Debug)]
pub struct Unpacker {
    /// The folder above, and the name in it: what is unpacked may be a file.
    above: OwnedFd,
    name: OsString,
    /// What was there before; none where that does not matter.
    before: Option<Listing>,
    /// The folder that was used last, and its path.
    last: Option<(PathBuf, OwnedFd)>,
    /// Folders, whose permissions and times come last: entries change them.
    folders: Vec<Entry>,
    /// What they may take.
    room: Room,
    /// How many files were made beside their place.
    made: u64,
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Unpacker {
    /// Unpacks to this path, which is a folder, a file, or not there. With `before` only what is as
    /// it says is changed; without it nothing is taken away because an entry says that it is gone.
    ///
    /// # Errors
    /// The folder above is not there, or the path has no name.
    pub fn new(top: &Path, before: Option<Listing>) -> io::Result<Self> {
        // What is there may be a link, or end with `..`.
        Self::at(
            &top.canonicalize().unwrap_or_else(|_| top.to_path_buf()),
            before,
        )
    }

    /// The same, where a link that is there is replaced as a file is: whoever sends may have put it there.
    ///
    /// # Errors
    /// The folder above is not there, or the path has no name.
    pub fn at(top: &Path, before: Option<Listing>) -> io::Result<Self> {
        let (Some(above), Some(name)) = (top.parent(), top.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let above = match above.as_os_str().is_empty() {
            true => Path::new("."),
            false => above,
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            above: open(above, flags, Mode::empty())?,
            name: name.to_owned(),
            before,
            last: None,
            folders: Vec::new(),
            room: Room::default(),
            made: 0,
        })
    }

    /// Unpacks all that comes; `tell` hears what became of each entry.
    ///
    /// # Errors
    /// Those of the stream and of `tell`; more folders than there is [`Room`] for. What cannot be made
    /// is told, and no error.
    pub fn run<R: Read>(
        &mut self,
        from: &mut Reader<R>,
        mut tell: impl FnMut(Outcome) -> io::Result<()>,
    ) -> io::Result<()> {
        while let Some(entry) = from.entry()? {
            let made = self.one(&entry, from)?;
            let what = made.unwrap_or_else(|errno| What::Refused(errno.raw_os_error()));
            let path = entry.path.clone();
            if what == What::Done && entry.kind == Kind::Folder {
                self.room.take(&entry)?;
                self.folders.push(entry);
            }
            tell(Outcome { path, what })?;
        }
        for folder in std::mem::take(&mut self.folders).into_iter().rev() {
            if let Err(errno) = self.finish(&folder) {
                let what = What::Refused(errno.raw_os_error());
                let path = folder.path;
                tell(Outcome { path, what })?;
            }
        }
        Ok(())
    }

    /// The folder in which an entry lies, and its name there.
    fn place(&mut self, entry: &Entry) -> Result<(OwnedFd, OsString), Errno> {
        let path = entry.checked().map_err(|_| Errno::INVAL)?;
        let Some(name) = path.file_name() else {
            return Ok((
                rustix::io::fcntl_dupfd_cloexec(&self.above, 0)?,
                self.name.clone(),
            ));
        };
        let above = path.parent().unwrap_or(Path::new(""));
        if let Some((last, folder)) = &self.last
            && last == above
        {
            return Ok((rustix::io::fcntl_dupfd_cloexec(folder, 0)?, name.to_owned()));
        }
        let mut folder = openat(&self.above, &self.name, FOLDER, Mode::empty())?;
        for part in above {
            folder = openat(&folder, part, FOLDER, Mode::empty())?;
        }
        let kept = rustix::io::fcntl_dupfd_cloexec(&folder, 0)?;
        self.last = Some((above.to_path_buf(), kept));
        Ok((folder, name.to_owned()))
    }

    /// The outer error is the stream's, the inner one why the entry could not be made.
    fn one<R: Read>(
        &mut self,
        entry: &Entry,
        from: &mut Reader<R>,
    ) -> io::Result<Result<What, Errno>> {
        if let Kind::Skipped { errno } = entry.kind {
            return Ok(Ok(What::Unread(errno)));
        }
        let (folder, name) = match self.place(entry) {
            Ok(place) => place,
            // It lies in something that is gone with it.
            Err(Errno::NOENT | Errno::NOTDIR) if entry.kind == Kind::Gone => {
                return Ok(Ok(What::Done));
            }
            Err(errno) => return Ok(Err(errno)),
        };
        let now = match present(&folder, &name, &entry.path) {
            Ok(now) => now,
            Err(errno) => return Ok(Err(errno)),
        };
        if let Some(before) = &self.before {
            let then = before.0.get(&entry.path);
            let as_before = match (then, &now) {
                (None, None) => true,
                (Some(then), Some(now)) => now.is_as(then),
                _ => false,
            };
            if !as_before {
                let as_sent = match (&now, &entry.kind) {
                    (None, Kind::Gone) => true,
                    (Some(now), _) => now.is_as(entry),
                    (None, _) => false,
                };
                let is = if as_sent { What::Done } else { What::Conflict };
                return Ok(Ok(is));
            }
        }
        let made = match &entry.kind {
            Kind::File { .. } => return self.file(entry, &folder, &name, now.as_ref(), from),
            Kind::Folder => self.folder(&folder, &name, now.as_ref()),
            Kind::Link { target } => self.link(&folder, &name, now.as_ref(), target),
            // Nobody said what was there: no packer sends that.
            Kind::Gone if self.before.is_none() => Err(Errno::INVAL),
            Kind::Gone => now.map_or(Ok(()), |now| self.remove(&folder, &name, &now)),
            Kind::Skipped { .. } | Kind::End => Err(Errno::INVAL),
        };
        Ok(made.map(|()| What::Done))
    }

    fn remove(&mut self, folder: &OwnedFd, name: &OsString, now: &Entry) -> Result<(), Errno> {
        // It may be on the way to what was used last.
        self.last = None;
        let flags = match now.kind {
            Kind::Folder => AtFlags::REMOVEDIR,
            _ => AtFlags::empty(),
        };
        unlinkat(folder, name, flags)
    }

    fn folder(
        &mut self,
        folder: &OwnedFd,
        name: &OsString,
        now: Option<&Entry>,
    ) -> Result<(), Errno> {
        match now {
            None => mkdirat(folder, name, Mode::RWXU),
            Some(now) if now.kind == Kind::Folder => Ok(()),
            // It is put aside until the folder is there.
            Some(_) => {
                let (aside, ()) = self.beside(|aside| rename_new(folder, name, aside))?;
                if let Err(errno) = mkdirat(folder, name, Mode::RWXU) {
                    let _ = rename_new(folder, &aside, name);
                    return Err(errno);
                }
                unlinkat(folder, &aside, AtFlags::empty())
            }
        }
    }

    fn link(
        &mut self,
        folder: &OwnedFd,
        name: &OsString,
        now: Option<&Entry>,
        target: &[u8],
    ) -> Result<(), Errno> {
        let (beside, ()) = self.beside(|beside| symlinkat(target, folder, beside))?;
        let put = self.put(folder, &beside, name, now);
        if put.is_err() {
            let _ = unlinkat(folder, &beside, AtFlags::empty());
        }
        put
    }

    /// Beside its place, so that nobody sees half of it, and what has another name keeps its contents.
    fn file<R: Read>(
        &mut self,
        entry: &Entry,
        folder: &OwnedFd,
        name: &OsString,
        now: Option<&Entry>,
        from: &mut Reader<R>,
    ) -> io::Result<Result<What, Errno>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let flags = flags | OFlags::CLOEXEC;
        let made = self.beside(|beside| openat(folder, beside, flags, Mode::RUSR | Mode::WUSR));
        let (beside, file) = match made {
            Ok(made) => made,
            Err(errno) => return Ok(Err(errno)),
        };
        let written = write(entry, &file, from);
        let placed = match written {
            // Its contents have taken a while: somebody may have written it meanwhile.
            Ok(Ok(What::Done)) if self.before.is_some() && !is_still(entry, folder, name, now) => {
                Ok(Ok(What::Conflict))
            }
            Ok(Ok(What::Done)) => {
                let put = self.put(folder, &beside, name, now);
                if put.is_ok() {
                    // It is there; where that cannot be, the next comparison says that it was changed.
                    let _ = settle(entry, folder, name);
                }
                Ok(put.map(|()| What::Done))
            }
            other => other,
        };
        if !matches!(placed, Ok(Ok(What::Done))) {
            let _ = unlinkat(folder, &beside, AtFlags::empty());
        }
        placed
    }

    /// Makes something that is not there yet, beside its place.
    fn beside<T>(
        &mut self,
        mut make: impl FnMut(&OsString) -> Result<T, Errno>,
    ) -> Result<(OsString, T), Errno> {
        let process = rustix::process::getpid().as_raw_nonzero();
        for _ in 0..TRIES {
            self.made += 1;
            let name = OsString::from(format!(".bailiwick-{process}-{}", self.made));
            match make(&name) {
                Err(Errno::EXIST) => {}
                made => return made.map(|made| (name, made)),
            }
        }
        Err(Errno::EXIST)
    }

    /// Puts what was made beside its place there; what was there is gone then, and only then.
    fn put(
        &mut self,
        folder: &OwnedFd,
        beside: &OsString,
        name: &OsString,
        now: Option<&Entry>,
    ) -> Result<(), Errno> {
        match now {
            None => rename_new(folder, beside, name),
            Some(now) if now.kind == Kind::Folder => {
                self.remove(folder, name, now)?;
                rename_new(folder, beside, name).inspect_err(|_| {
                    let _ = mkdirat(folder, name, Mode::from_raw_mode(now.mode));
                })
            }
            Some(_) => renameat(folder, beside, folder, name),
        }
    }

    /// Gives a folder its permissions and time.
    fn finish(&mut self, entry: &Entry) -> Result<(), Errno> {
        let (above, name) = self.place(entry)?;
        let folder = openat(&above, &name, FOLDER, Mode::empty())?;
        // Whom entries belong to, and who may remove them, is the folder's own.
        let own = Mode::from_raw_mode(fstat(&folder)?.st_mode) & (Mode::SGID | Mode::SVTX);
        fchmod(&folder, Mode::from_raw_mode(entry.mode & PERMISSIONS) | own)?;
        futimens(&folder, &times(entry))
    }
}

/// Gives something another name that nothing has.
fn rename_new(folder: &OwnedFd, from: &OsString, to: &OsString) -> Result<(), Errno> {
    match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        // Some file systems do not know the flag: nothing was there a moment ago.
        Err(Errno::INVAL | Errno::NOSYS) => renameat(folder, from, folder, to),
        other => other,
    }
}

/// What is at a place.
fn present(folder: &OwnedFd, name: &OsString, path: &[u8]) -> Result<Option<Entry>, Errno> {
    let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let Some(mut entry) = Entry::of(path, &stat) else {
        // A device, a pipe: nothing of it is replaced.
        return Err(Errno::OPNOTSUPP);
    };
    if let Kind::Link { target } = &mut entry.kind {
        *target = readlinkat(folder, name, Vec::new())?.into_bytes();
    }
    Ok(Some(entry))
}

fn times(entry: &Entry) -> Timestamps {
    let (seconds, nanoseconds) = entry.modified;
    let at = Timespec {
        tv_sec: seconds,
        tv_nsec: i64::from(nanoseconds.min(999_999_999)),
    };
    Timestamps {
        last_access: at,
        last_modification: at,
    }
}

/// Writes a file's contents, permissions and time. What is left of them is passed over by whoever reads
/// the next entry.
fn write<R: Read>(
    entry: &Entry,
    file: &OwnedFd,
    from: &mut Reader<R>,
) -> io::Result<Result<What, Errno>> {
    loop {
        let mut left = match from.next_part()? {
            Part::Bytes(part) => part,
            Part::Whole => break,
            Part::TakenBack(errno) => return Ok(Ok(What::Unread(errno))),
        };
        while !left.is_empty() {
            match rustix::io::write(file, left) {
                Ok(written) => left = left.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(errno) => return Ok(Err(errno)),
            }
        }
    }
    let mode = Mode::from_raw_mode(entry.mode & PERMISSIONS);
    let done = fchmod(file.as_fd(), mode).and_then(|()| futimens(file.as_fd(), &times(entry)));
    Ok(done.map(|()| What::Done))
}

/// Whether what is at a name is what was there.
fn is_still(entry: &Entry, folder: &OwnedFd, name: &OsString, was: Option<&Entry>) -> bool {
    match (present(folder, name, &entry.path), was) {
        (Ok(None), None) => true,
        (Ok(Some(now)), Some(was)) => now.is_as(was),
        _ => false,
    }
}

/// Gives a file its permissions and time again, where whoever watched it being put into place has written one of his
/// own there: else the next comparison takes it for changed.
fn settle(entry: &Entry, folder: &OwnedFd, name: &OsString) -> Result<(), Errno> {
    let is = present(folder, name, &entry.path)?;
    let other = |is: &Entry| is.modified != entry.modified || is.mode != entry.mode & PERMISSIONS;
    if !is.as_ref().is_some_and(other) {
        return Ok(());
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty())?;
    let mode = Mode::from_raw_mode(entry.mode & PERMISSIONS);
    fchmod(&file, mode).and_then(|()| futimens(&file, &times(entry)))
}

#[cfg(test)]
#[path = "unpack_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "unpack_hostile_tests.rs"]
mod hostile_tests;
