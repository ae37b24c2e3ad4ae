//! Files whose name is decided by what they say. The program gets an anonymous file to write to;
//! when that says what is harmless, the real file is made from a copy of it.
//!
//! A monitor needs the name at once: what it is asked to make it looks at again by its name, sets its
//! mode, and fails where it is not there. It gets an empty file, which says nothing harmful either, until
//! there is the real one; if there never is, it is taken away.

use super::act::Refused;
use super::git;
use super::rename::replace;
use super::repository::{Leads, leads_well};
use super::rules::folder_of_module;
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, MemfdFlags, Mode, OFlags, fstat, memfd_create, openat, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A file is at most this long.
const LENGTH: usize = 1 << 20;
/// It is looked at for this long.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a file must say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One line that leads somewhere.
    Leads(Leads),
    /// A configuration of git.
    Configuration,
}

/// A file that is not there yet, or that is still being written.
#[derive(Debug)]
pub(super) struct Deferred {
    wanted: Wanted,
    content: File,
    written: Option<Vec<u8>>,
    since: Instant,
    /// The device and number of the empty file that has the name meanwhile.
    stand_in: Option<(u64, u64)>,
}

/// What became of it.
pub(super) enum Progress {
    Waits(Deferred),
    Done,
    Refused(Refused),
}

/// What is known about a file from the beginning.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) folder: OwnedFd,
    pub(super) name: OsString,
    /// Where it will be, without links.
    pub(super) path: PathBuf,
    pub(super) mode: Mode,
    pub(super) kind: Kind,
    pub(super) rule: u32,
    /// Whether something must have the name at once.
    pub(super) named: bool,
    /// The program that writes it.
    pub(super) process: u32,
}

impl Deferred {
    /// A file to be, and what the program writes to.
    pub(super) fn new(wanted: Wanted) -> Result<(Self, OwnedFd), Errno> {
        let stand_in = match wanted.named {
            true => stand_in(&wanted)?,
            false => None,
        };
        let content = memfd_create("deferred", MemfdFlags::CLOEXEC)?;
        let given = rustix::io::fcntl_dupfd_cloexec(&content, 3)?;
        let deferred = Self {
            wanted,
            content: content.into(),
            written: None,
            since: Instant::now(),
            stand_in,
        };
        Ok((deferred, given))
    }

    /// How long to wait before it is looked at again. Whoever reads the empty file would read something
    /// else a moment later.
    pub(super) fn patience(&self) -> Duration {
        match self.stand_in.is_some() && self.written.is_none() {
            true => Duration::from_millis(1),
            false => super::PATIENCE,
        }
    }

    /// Takes the empty file away that has the name of one that is not made.
    fn withdraw(&self) {
        let Wanted { folder, name, .. } = &self.wanted;
        let stands = || {
            let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some((found.st_dev, found.st_ino))
        };
        if self.written.is_none() && self.stand_in.is_some() && stands() == self.stand_in {
            let _ = unlinkat(folder, name, AtFlags::empty());
        }
    }

    /// Makes the real file, or makes it anew, from what is known by now. `root` is where the policy's
    /// files stand.
    pub(super) fn advance(mut self, root: &Path) -> Progress {
        let length = self.content.metadata().map_or(0, |meta| meta.len());
        let mut content = vec![0; LENGTH.min(usize::try_from(length).unwrap_or(LENGTH))];
        let read = self.content.read_at(&mut content, 0).unwrap_or(0);
        content.truncate(read);
        let over = self.since.elapsed() > PATIENCE || !exists(self.wanted.process);
        if self.written.as_ref() == Some(&content) {
            return match over || self.wanted.kind != Kind::Configuration {
                true => Progress::Done,
                false => Progress::Waits(self),
            };
        }
        let complete = content.ends_with(b"\n") || over;
        let objection = match complete {
            true => self.objection(&content, root),
            false => Some("it is not complete".to_owned()),
        };
        match objection {
            None => {
                // What fails here fails as it would for the program, which may be gone.
                let wanted = &self.wanted;
                let _ = replace(&wanted.folder, &wanted.name, &content, wanted.mode);
                self.written = Some(content);
                Progress::Waits(self)
            }
            // More may come, of which this is a part.
            Some(_) if !over && (!complete || self.wanted.kind == Kind::Configuration) => {
                Progress::Waits(self)
            }
            Some(_) if content.is_empty() => {
                self.withdraw();
                Progress::Done
            }
            Some(reason) => {
                self.withdraw();
                let refused = Refused::by(self.wanted.rule, &self.wanted.path, reason);
                Progress::Refused(refused)
            }
        }
    }

    /// Why the file may not say this.
    fn objection(&self, content: &[u8], root: &Path) -> Option<String> {
        let folder = self.wanted.path.parent().unwrap_or(&self.wanted.path);
        match self.wanted.kind {
            Kind::Leads(kind) => (!leads_well(kind, content, folder, root))
                .then(|| "it leads to a repository that is not protected".to_owned()),
            Kind::Configuration => git::accept(b"", content, folder_of_module(&self.wanted.path))
                .err()
                .map(|objection| objection.to_string()),
        }
    }
}

/// Makes the empty file; none where there is something else by now.
fn stand_in(wanted: &Wanted) -> Result<Option<(u64, u64)>, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(&wanted.folder, &wanted.name, flags, wanted.mode) {
        Ok(file) => fstat(&file).map(|found| Some((found.st_dev, found.st_ino))),
        Err(Errno::EXIST) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn exists(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}
