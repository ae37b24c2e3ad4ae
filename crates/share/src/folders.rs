//! What folders hold. Nothing of a folder is open between two requests: the guest asks for what follows a
//! place that it was told.

use crate::nodes::path_of;
use crate::server::Server;
use crate::wire::{Answer, Fields, PART};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, open, seek};
use rustix::io::Errno;
use std::mem::MaybeUninit;

/// How much is asked of the host's kernel at once, in bytes.
const ROOM: usize = 32 * 1024;
/// The bytes of an entry before its name (`struct fuse_dirent`).
const ENTRY: usize = 24;
/// The bytes of what is told of it besides (`struct fuse_entry_out`).
const LEADS: usize = 128;

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
        let folder = self.folder(id)?;
        if offset != 0 {
            seek(&folder, SeekFrom::Start(offset))?;
        }
        let mut space = [MaybeUninit::uninit(); ROOM];
        let mut entries = RawDir::new(folder.as_fd(), &mut space);
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                // The folder is gone, and holds nothing.
                Err(Errno::NOENT) => break,
                Err(error) => return Err(error),
            };
            let name = entry.file_name();
            let before = answer.said();
            let leads = if plus { LEADS } else { 0 };
            let length = (leads + ENTRY + name.count_bytes()).next_multiple_of(8);
            if before + length > size {
                break;
            }
            if plus {
                let is_itself = matches!(name.to_bytes(), b"." | b"..");
                let known = match is_itself {
                    true => Err(Errno::NOENT),
                    false => self.entry(id, name, answer),
                };
                if known.is_err() {
                    answer.cut(before);
                    answer.zeros(LEADS);
                }
            }
            answer.u64(entry.ino());
            answer.u64(entry.next_entry_cookie());
            answer.u32(u32::try_from(name.count_bytes()).unwrap_or_default());
            answer.u32(kind(entry.file_type()));
            answer.bytes(name.to_bytes());
            answer.pad();
        }
        Ok(())
    }
}

/// The kind of an entry, as folders have it (`DT_*`): that of its mode, without the permissions.
fn kind(kind: rustix::fs::FileType) -> u32 {
    match kind {
        rustix::fs::FileType::Unknown => 0,
        kind => kind.as_raw_mode() >> 12,
    }
}
