//! What a file is: its attributes, and their changes.

use crate::nodes::{Key, Told, path_of, stat};
use crate::owners::Owner;
use crate::server::Server;
use crate::wire::{Answer, Fields};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, StatVfs, Statx, Timespec, Timestamps, UTIME_NOW,
    UTIME_OMIT, chmodat, fchmod, fstatvfs, ftruncate, readlinkat, utimensat,
};
use rustix::io::Errno;

/// How long the guest keeps what it is told and what is watched, in seconds.
pub(crate) const KEPT: u64 = 86_400;

/// What is to be changed (`FATTR_*`).
mod wanted {
    pub(super) const MODE: u32 = 1;
    pub(super) const UID: u32 = 1 << 1;
    pub(super) const GID: u32 = 1 << 2;
    pub(super) const SIZE: u32 = 1 << 3;
    pub(super) const ATIME: u32 = 1 << 4;
    pub(super) const MTIME: u32 = 1 << 5;
    pub(super) const HANDLE: u32 = 1 << 6;
    pub(super) const ATIME_NOW: u32 = 1 << 7;
    pub(super) const MTIME_NOW: u32 = 1 << 8;
}

impl Server {
    /// The inode number that the guest is told: the host's, with the device's number in the upper 16 bits, so
    /// that files of two devices differ. It is 0 for the first device. (Numbers of 2^48 and more, which some network
    /// file systems have, may meet.)
    pub(crate) fn inode(&mut self, device: (u32, u32), inode: u64) -> u64 {
        let next = self.devices.len() - 1;
        let device = *self.devices.entry(device).or_insert(next);
        inode ^ ((device as u64) << 48)
    }

    /// Says what a file is (`struct fuse_attr`).
    pub(crate) fn attributes(&mut self, found: &Statx, answer: &mut Answer) {
        let key = Key::of(found);
        let (uid, gid) = self.owners.of(&key, (found.stx_uid, found.stx_gid));
        answer.u64(self.inode(key.device, key.inode));
        answer.u64(found.stx_size);
        answer.u64(found.stx_blocks);
        let times = [&found.stx_atime, &found.stx_mtime, &found.stx_ctime];
        for time in times {
            answer.u64(time.tv_sec.cast_unsigned());
        }
        for time in times {
            answer.u32(time.tv_nsec);
        }
        answer.u32(found.stx_mode.into());
        answer.u32(found.stx_nlink);
        answer.u32(uid);
        answer.u32(gid);
        answer.u32(0);
        answer.u32(found.stx_blksize);
        answer.u32(0);
    }

    /// For how many seconds the guest may keep a file's attributes: [`KEPT`], or 0 where a change could come
    /// unseen. What has several names may be changed by one in a folder that is not watched.
    pub(crate) fn kept(&self, id: u64, found: &Statx) -> u64 {
        let kept = self.nodes.get(id).is_ok_and(|node| {
            node.watch.is_some()
                || node.kind != FileType::Directory
                    && found.stx_nlink == 1
                    && self.nodes.get(node.place().0).is_ok_and(|parent| {
                        parent.watch.is_some() && parent.key.mount == node.key.mount
                    })
        });
        if kept { KEPT } else { 0 }
    }

    /// Remembers what the guest is about to be told of a file, and has it drop the contents that it keeps where
    /// somebody else has changed them.
    pub(crate) fn tell_as_found(&mut self, id: u64, found: &Statx) -> Result<(), Errno> {
        let now = Told::of(found);
        let before = self.nodes.get_mut(id)?.told.replace(now);
        match before {
            Some(before) if !now.has_contents_of(&before) => {
                self.tell_of_file(id, true).map_err(|_| Errno::IO)
            }
            _ => Ok(()),
        }
    }

    /// Before the guest changes a file: what others have changed until then is told, since nobody could tell the
    /// two apart afterwards.
    pub(crate) fn before_own_change(&mut self, id: u64) -> Result<(), Errno> {
        let found = stat(self.best(id)?)?;
        self.tell_as_found(id, &found)
    }

    /// Remembers what a file is after the guest itself has changed it.
    pub(crate) fn own_change(&mut self, id: u64, found: &Statx) {
        if let Ok(node) = self.nodes.get_mut(id) {
            node.told = Some(Told::of(found));
        }
    }

    /// Says what a file is now (`struct fuse_attr_out`).
    fn tell_attributes(&mut self, id: u64, found: &Statx, answer: &mut Answer) {
        answer.u64(self.kept(id, found));
        answer.u64(0);
        self.attributes(found, answer);
    }

    /// A descriptor of a file: one that is open where there is one.
    fn best(&mut self, id: u64) -> Result<BorrowedFd<'_>, Errno> {
        let handle = self.nodes.get(id)?.handles.last().copied();
        match handle.and_then(|handle| self.handles.get(&handle)) {
            Some(handle) => Ok(handle.file.as_fd()),
            None => self.nodes.fd(id),
        }
    }

    pub(crate) fn getattr(&mut self, id: u64, answer: &mut Answer) -> Result<(), Errno> {
        let found = stat(self.best(id)?)?;
        self.tell_as_found(id, &found)?;
        self.tell_attributes(id, &found, answer);
        Ok(())
    }

    pub(crate) fn setattr(
        &mut self,
        id: u64,
        mut body: Fields<'_>,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        let valid = body.u32()?;
        body.skip(4)?;
        let handle = body.u64()?;
        let size = body.u64()?;
        body.skip(8)?;
        let (atime, mtime, _ctime) = (body.u64()?, body.u64()?, body.u64()?);
        let (atime_nsec, mtime_nsec, _) = (body.u32()?, body.u32()?, body.u32()?);
        let mode = body.u32()?;
        body.skip(4)?;
        let owner = (body.u32()?, body.u32()?);
        let has = |what| valid & what != 0;
        self.before_own_change(id)?;
        if has(wanted::MODE) {
            self.chmod(id, mode)?;
        }
        if has(wanted::UID) || has(wanted::GID) {
            let uid = has(wanted::UID).then_some(owner.0);
            self.chown(id, uid, has(wanted::GID).then_some(owner.1))?;
        }
        if has(wanted::SIZE) {
            let handle = has(wanted::HANDLE).then_some(handle);
            self.truncate(id, handle, size)?;
        }
        if has(wanted::ATIME) || has(wanted::MTIME) {
            let time = |set, now, seconds: u64, nanoseconds: u32| Timespec {
                tv_sec: seconds.cast_signed(),
                tv_nsec: match (has(set), has(now)) {
                    (false, _) => UTIME_OMIT,
                    (true, true) => UTIME_NOW,
                    (true, false) => nanoseconds.into(),
                },
            };
            let times = Timestamps {
                last_access: time(wanted::ATIME, wanted::ATIME_NOW, atime, atime_nsec),
                last_modification: time(wanted::MTIME, wanted::MTIME_NOW, mtime, mtime_nsec),
            };
            utimensat(self.nodes.fd(id)?, c"", &times, AtFlags::EMPTY_PATH)?;
        }
        let found = stat(self.best(id)?)?;
        self.own_change(id, &found);
        self.tell_attributes(id, &found, answer);
        Ok(())
    }

    fn chmod(&mut self, id: u64, mode: u32) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(mode & 0o7777);
        let handle = self.nodes.get(id)?.handles.last().copied();
        match handle.and_then(|handle| self.handles.get(&handle)) {
            Some(handle) => fchmod(&*handle.file, mode),
            None => chmodat(CWD, path_of(self.nodes.fd(id)?), mode, AtFlags::empty()),
        }
    }

    fn chown(&mut self, id: u64, uid: Option<u32>, gid: Option<u32>) -> Result<(), Errno> {
        let found = stat(self.best(id)?)?;
        let (key, host): (Key, Owner) = (Key::of(&found), (found.stx_uid, found.stx_gid));
        let now = self.owners.of(&key, host);
        let owner = (uid.unwrap_or(now.0), gid.unwrap_or(now.1));
        self.owners.give(key, owner, host)
    }

    fn truncate(&mut self, id: u64, handle: Option<u64>, size: u64) -> Result<(), Errno> {
        if let Some(handle) = handle.and_then(|handle| self.handles.get(&handle)) {
            return ftruncate(&*handle.file, size);
        }
        if self.nodes.get(id)?.kind != FileType::RegularFile {
            return Err(Errno::INVAL);
        }
        ftruncate(self.open_node(id, OFlags::WRONLY | OFlags::CLOEXEC)?, size)
    }

    pub(crate) fn readlink(&mut self, id: u64, answer: &mut Answer) -> Result<(), Errno> {
        let text = readlinkat(self.nodes.fd(id)?, c"", Vec::new())?;
        answer.bytes(text.as_bytes());
        Ok(())
    }

    /// Says how much room there is (`struct fuse_kstatfs`).
    pub(crate) fn statfs(&mut self, id: u64, answer: &mut Answer) -> Result<(), Errno> {
        let StatVfs {
            f_blocks,
            f_bfree,
            f_bavail,
            f_files,
            f_ffree,
            f_bsize,
            f_namemax,
            f_frsize,
            ..
        } = fstatvfs(self.nodes.fd(id)?)?;
        for count in [f_blocks, f_bfree, f_bavail, f_files, f_ffree] {
            answer.u64(count);
        }
        for size in [f_bsize, f_namemax, f_frsize] {
            answer.u32(u32::try_from(size).unwrap_or(u32::MAX));
        }
        answer.zeros(4 + 6 * 4);
        Ok(())
    }
}
