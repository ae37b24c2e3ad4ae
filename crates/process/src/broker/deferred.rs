//! Files whose name is decided by what they say, and that a program writes where they are. The program gets
//! an anonymous file to write to; the name has an empty file, which says nothing harmful, until a copy of what
//! was written takes its place. If nothing ever may, the empty file is taken away.

use super::act::Refused;
use super::rename::{Renewed, replace};
use super::rules::Rules;
use crate::git::{self, Content};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, MemfdFlags, Mode, OFlags, Stat, fstat, memfd_create, openat, statat, unlinkat,
};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// It is looked at for this long.
const PATIENCE: Duration = Duration::from_secs(10);

/// The device and number of a file.
type Identity = (u64, u64);

/// A file that is not there yet, or that is still being written.
#[derive(Debug)]
pub(super) struct Deferred {
    wanted: Wanted,
    /// What the program writes to.
    draft: File,
    written: Option<Vec<u8>>,
    since: Instant,
    /// What has the name as long as nobody else gives it to something.
    named: Identity,
    /// Whether that is an empty file that was made for it.
    stands_in: bool,
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
    pub(super) content: Content,
    pub(super) rule: u32,
    /// What it says, where what it said before counts.
    pub(super) old: Vec<u8>,
    /// The program that writes it.
    pub(super) process: u32,
}

impl Deferred {
    /// A file to be, and what the program writes to.
    pub(super) fn new(wanted: Wanted) -> Result<(Self, OwnedFd), Errno> {
        let stands_in = stand_in(&wanted)?;
        let named = identity(&wanted)?;
        let draft = memfd_create("deferred", MemfdFlags::CLOEXEC)?;
        let given = rustix::io::fcntl_dupfd_cloexec(&draft, 3)?;
        let deferred = Self {
            wanted,
            draft: draft.into(),
            written: None,
            since: Instant::now(),
            named,
            stands_in,
        };
        Ok((deferred, given))
    }

    /// How long to wait before it is looked at again. Whoever reads the empty file would read something
    /// else a moment later.
    pub(super) fn patience(&self) -> Duration {
        match self.written.is_none() && self.since.elapsed() < super::PATIENCE * 10 {
            true => Duration::from_millis(1),
            false => super::PATIENCE,
        }
    }

    /// Whether the name is still that of what was put there.
    fn is_named(&self) -> bool {
        identity(&self.wanted).is_ok_and(|found| found == self.named)
    }

    /// Follows what has the name, where a copy has taken its place.
    pub(super) fn follow(&mut self, renewed: &[Renewed]) {
        for Renewed { was, is } in renewed {
            if self.named == *was {
                self.named = *is;
            }
        }
    }

    /// Takes the empty file away that has the name of one that is not made.
    fn withdraw(&self) {
        let is_ours = |found: Stat| identity_of(&found) == self.named && found.st_size == 0;
        if self.written.is_none() && self.stands_in && stat_of(&self.wanted).is_ok_and(is_ours) {
            let _ = unlinkat(&self.wanted.folder, &self.wanted.name, AtFlags::empty());
        }
    }

    /// Makes the real file, or makes it anew, from what is known by now.
    pub(super) fn advance(mut self, rules: &Rules) -> Progress {
        // Somebody has removed it, or put something else there: what is written goes nowhere.
        if !self.is_named() {
            return Progress::Done;
        }
        let over = self.since.elapsed() > PATIENCE || !exists(self.wanted.process);
        let text = self.text();
        if self.written.as_ref() == Some(&text) {
            return match over || !self.wanted.content.is_configuration() {
                true => Progress::Done,
                false => Progress::Waits(self),
            };
        }
        if text.is_empty() && self.stands_in && over {
            // An empty file is what it was meant to be.
            return Progress::Done;
        }
        let complete = match self.wanted.content {
            content if content.is_index() => !text.is_empty(),
            _ => text.ends_with(b"\n"),
        };
        let checked = match complete || over {
            true => self.check(&text, rules),
            false => Err("it is not complete".to_owned()),
        };
        match checked {
            Ok(instead) => {
                // What fails here fails as it would for the program, which may be gone.
                let Wanted {
                    folder, name, mode, ..
                } = &self.wanted;
                let bytes = instead.as_ref().unwrap_or(&text);
                if replace(folder, name, bytes, *mode).is_ok()
                    && let Ok(named) = identity(&self.wanted)
                {
                    self.named = named;
                }
                self.written = Some(text);
                Progress::Waits(self)
            }
            // More may come, of which this is a part.
            Err(_)
                if !over
                    && (!complete
                        || self.wanted.content.is_configuration()
                        || self.wanted.content.is_index()) =>
            {
                Progress::Waits(self)
            }
            Err(_) if text.is_empty() => {
                self.withdraw();
                Progress::Done
            }
            Err(reason) => {
                self.withdraw();
                Progress::Refused(Refused::by(self.wanted.rule, &self.wanted.path, reason))
            }
        }
    }

    fn text(&self) -> Vec<u8> {
        let length = self.draft.metadata().map_or(0, |meta| meta.len());
        let limit = self.wanted.content.limit() + 1;
        let mut text = vec![0; limit.min(usize::try_from(length).unwrap_or(limit))];
        let read = self.draft.read_at(&mut text, 0).unwrap_or(0);
        text.truncate(read);
        text
    }

    fn check(&self, text: &[u8], rules: &Rules) -> Result<Option<Vec<u8>>, String> {
        let path = rules.of_policy(&self.wanted.path);
        let site = rules.site(&path);
        let content = self.wanted.content;
        let instead = git::check(content, &self.wanted.old, text, &site)?;
        let text = instead.as_deref().unwrap_or(text);
        let honest = rules.honest(content, text, &Vec::new, &BTreeMap::new(), &site)?;
        Ok(honest.or(instead))
    }
}

/// What has the name.
fn identity(wanted: &Wanted) -> Result<Identity, Errno> {
    stat_of(wanted).map(|found| identity_of(&found))
}

fn identity_of(found: &Stat) -> Identity {
    (found.st_dev, found.st_ino)
}

fn stat_of(wanted: &Wanted) -> Result<Stat, Errno> {
    statat(&wanted.folder, &wanted.name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Makes the empty file; false where there is something by now.
fn stand_in(wanted: &Wanted) -> Result<bool, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(&wanted.folder, &wanted.name, flags, wanted.mode) {
        Ok(file) => fstat(&file).map(|_| true),
        Err(Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno),
    }
}

fn exists(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}
