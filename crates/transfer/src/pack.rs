//! A folder becomes a stream of entries. Links are not followed; what cannot be read is told and left
//! out, and so is a folder that holds what has no path.

use crate::entry::{Entry, Kind, checked};
use crate::stream::{PART, Writer};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fstat, openat, readlinkat, statat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Deeper folders are left out: each is a descriptor while it is walked.
const DEEPEST: usize = 200;

/// Which contents are packed.
#[derive(Clone, Copy, Debug)]
pub enum Only<'a> {
    /// Everything.
    All,
    /// These paths alone; nothing else is told.
    These(&'a BTreeSet<Vec<u8>>),
    /// None: a listing.
    Nothing,
}

/// Packs a folder, or a file; the entries are listed besides, where somebody wants that.
///
/// # Errors
/// What is to be packed is not there; those of the streams.
pub fn pack<'a>(
    top: &Path,
    only: Only<'a>,
    to: &'a mut dyn Write,
    listing: Option<&'a mut dyn Write>,
) -> io::Result<()> {
    let mut walk = Walk {
        only,
        to: Writer::new(to),
        listing: listing.map(Writer::new),
        part: vec![0; PART],
    };
    let stat = statat(CWD, top, AtFlags::SYMLINK_NOFOLLOW)?;
    let name = CString::new(top.as_os_str().as_bytes())?;
    walk.one(CWD, &name, Vec::new(), Some(stat), 0)?;
    walk.to.end()?;
    walk.listing.as_mut().map_or(Ok(()), Writer::end)
}

struct Walk<'a> {
    only: Only<'a>,
    to: Writer<&'a mut dyn Write>,
    listing: Option<Writer<&'a mut dyn Write>>,
    part: Vec<u8>,
}

impl Walk<'_> {
    fn is_wanted(&self, path: &[u8]) -> bool {
        match self.only {
            Only::These(paths) => paths.contains(path),
            Only::All | Only::Nothing => true,
        }
    }

    fn tell(&mut self, entry: &Entry) -> io::Result<()> {
        if !self.is_wanted(&entry.path) {
            return Ok(());
        }
        if let Some(listing) = &mut self.listing {
            listing.entry(entry)?;
        }
        self.to.entry(entry)
    }

    fn one(
        &mut self,
        above: impl AsFd + Copy,
        name: &CString,
        path: Vec<u8>,
        stat: Option<rustix::fs::Stat>,
        depth: usize,
    ) -> io::Result<()> {
        let told = match self.entry(above, name, &path, stat, depth) {
            Ok(done) => return done,
            Err(errno) => Entry::bare(
                &path,
                Kind::Skipped {
                    errno: errno.raw_os_error(),
                },
            ),
        };
        self.tell(&told)
    }

    /// The outer error is why the entry cannot be read, the inner one why it cannot be told.
    fn entry(
        &mut self,
        above: impl AsFd + Copy,
        name: &CString,
        path: &[u8],
        stat: Option<rustix::fs::Stat>,
        depth: usize,
    ) -> Result<io::Result<()>, Errno> {
        let stat = match stat {
            Some(stat) => stat,
            None => statat(above, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW)?,
        };
        let mut entry = Entry::of(path, &stat).ok_or(Errno::OPNOTSUPP)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match &mut entry.kind {
            Kind::Folder => {
                if depth >= DEEPEST {
                    return Err(Errno::LOOP);
                }
                let flags = flags | OFlags::DIRECTORY;
                let folder = openat(above, name.as_c_str(), flags, Mode::empty())?;
                // All of it is read before anything of it is told.
                let below = names(&folder, path)?;
                Ok(self
                    .tell(&entry)
                    .and_then(|()| self.below(&folder, below, depth)))
            }
            Kind::File { .. } if matches!(self.only, Only::Nothing) || !self.is_wanted(path) => {
                Ok(self.tell(&entry))
            }
            Kind::File { .. } => {
                let file = openat(above, name.as_c_str(), flags, Mode::empty())?;
                // What was opened may be another by now.
                let entry = Entry::of(path, &fstat(&file)?).ok_or(Errno::OPNOTSUPP)?;
                if !matches!(entry.kind, Kind::File { .. }) {
                    return Err(Errno::AGAIN);
                }
                Ok(self.file(&entry, &file))
            }
            Kind::Link { target } => {
                *target = readlinkat(above, name.as_c_str(), Vec::new())?.into_bytes();
                Ok(self.tell(&entry))
            }
            _ => Err(Errno::OPNOTSUPP),
        }
    }

    fn file(&mut self, entry: &Entry, file: &OwnedFd) -> io::Result<()> {
        self.tell(entry)?;
        loop {
            match rustix::io::read(file, &mut self.part) {
                Ok(0) => return self.to.whole(),
                Ok(read) => self.to.part(self.part.get(..read).unwrap_or_default())?,
                Err(Errno::INTR) => {}
                // Half a file is none.
                Err(errno) => {
                    let errno = errno.raw_os_error();
                    if let Some(listing) = &mut self.listing {
                        listing.entry(&Entry::bare(&entry.path, Kind::Skipped { errno }))?;
                    }
                    return self.to.taken_back(errno);
                }
            }
        }
    }

    fn below(&mut self, folder: &OwnedFd, names: Names, depth: usize) -> io::Result<()> {
        for (path, name) in names {
            self.one(folder.as_fd(), &name, path, None, depth + 1)?;
        }
        Ok(())
    }
}

/// The paths and names of what lies in a folder, in their order.
type Names = Vec<(Vec<u8>, CString)>;

fn names(folder: &OwnedFd, path: &[u8]) -> Result<Names, Errno> {
    let mut names = Names::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_owned();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let mut below = path.to_vec();
        if !below.is_empty() {
            below.push(b'/');
        }
        below.extend_from_slice(name.to_bytes());
        checked(&below).map_err(|_| Errno::NAMETOOLONG)?;
        names.push((below, name));
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
#[path = "pack_tests.rs"]
mod tests;
