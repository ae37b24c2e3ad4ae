//! What folders hold.
//!
//! Decision: the guest asks for what follows a place, and no folder is open between two requests. A listing is
//! read as a whole when it is asked for from its beginning, and its places are those of that listing: what is removed or
//! made meanwhile shifts nothing. A file system's own places would, where they are only counted (overlayfs, tmpfs before
//! Linux 6.6). One listing is held for each folder: where two programs list it at once, the later one's is used for
//! both, and an entry that came or went between the two may be missed, or told twice, by the earlier one.

use crate::nodes::path_of;
use crate::server::Server;
use crate::wire::{Answer, Fields, PART};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, RawDir, open};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::rc::Rc;

/// How much is asked of the host's kernel at once, in bytes.
const ROOM: usize = 32 * 1024;
/// The bytes of an entry before its name (`struct fuse_dirent`).
const ENTRY: usize = 24;
/// The bytes of what is told of it besides (`struct fuse_entry_out`).
const LEADS: usize = 128;
/// So many entries of all listings are held; the last listing is, however long it is.
const HELD: usize = 1 << 18;

/// A name in a folder.
#[derive(Debug)]
struct Listed {
    name: CString,
    inode: u64,
    kind: FileType,
}

/// Folders that are being listed, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Listings(VecDeque<(u64, Rc<Vec<Listed>>)>);

impl Listings {
    fn of(&self, id: u64) -> Option<Rc<Vec<Listed>>> {
        let found = self.0.iter().find(|(listed, _)| *listed == id);
        found.map(|(_, entries)| Rc::clone(entries))
    }

    fn hold(&mut self, id: u64, entries: Rc<Vec<Listed>>) {
        self.end(id);
        self.0.push_back((id, entries));
        while self.0.len() > 1 && self.0.iter().map(|(_, all)| all.len()).sum::<usize>() > HELD {
            self.0.pop_front();
        }
    }

    /// A listing has come to its end.
    fn end(&mut self, id: u64) {
        self.0.retain(|(listed, _)| *listed != id);
    }
}

/// All that a folder holds.
fn list(folder: &OwnedFd) -> Result<Vec<Listed>, Errno> {
    let mut all = Vec::new();
    let mut space = [MaybeUninit::uninit(); ROOM];
    let mut entries = RawDir::new(folder.as_fd(), &mut space);
    while let Some(entry) = entries.next() {
        match entry {
            Ok(entry) => all.push(Listed {
                name: entry.file_name().to_owned(),
                inode: entry.ino(),
                kind: entry.file_type(),
            }),
            // The folder is gone, and holds nothing.
            Err(Errno::NOENT) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

impl Server {
    pub(crate) fn folder(&mut self, id: u64) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        open(path_of(self.nodes.fd(id)?), flags, Mode::empty())
    }

    /// Says what a folder holds; `plus` says what each of it is as well.
    pub(crate) fn readdir(
        &mut self,
        id: u64,
        mut body: Fields<'_>,
        plus: bool,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        body.skip(8)?;
        let offset = body.u64()?;
        let size = (body.u32()? as usize).min(PART);
        let held = self.listings.of(id).filter(|_| offset > 0);
        let entries = match held {
            Some(entries) => entries,
            None => {
                let entries = Rc::new(list(&self.folder(id)?)?);
                self.listings.hold(id, Rc::clone(&entries));
                entries
            }
        };
        let device = self.nodes.get(id)?.key.device;
        let begin = usize::try_from(offset).unwrap_or(usize::MAX);
        for (entry, next) in entries.iter().zip(1_u64..).skip(begin) {
            let before = answer.said();
            let leads = if plus { LEADS } else { 0 };
            let name = entry.name.to_bytes();
            let length = (leads + ENTRY + name.len()).next_multiple_of(8);
            if before + length > size {
                return Ok(());
            }
            if plus {
                let known = match name {
                    b"." | b".." => Err(Errno::NOENT),
                    _ => self.entry(id, &entry.name, answer),
                };
                if known.is_err() {
                    answer.cut(before);
                    answer.zeros(LEADS);
                }
            }
            answer.u64(self.inode(device, entry.inode));
            answer.u64(next);
            answer.u32(u32::try_from(name.len()).unwrap_or_default());
            answer.u32(kind(entry.kind));
            answer.bytes(name);
            answer.pad();
        }
        if answer.said() == 0 {
            self.listings.end(id);
        }
        Ok(())
    }
}

/// The kind of an entry, as folders have it (`DT_*`): that of its mode, without the permissions.
fn kind(kind: FileType) -> u32 {
    match kind {
        FileType::Unknown => 0,
        kind => kind.as_raw_mode() >> 12,
    }
}
