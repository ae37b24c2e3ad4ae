//! Names in folders: looked up, made, moved and removed.

use crate::attributes::KEPT;
use crate::data::Handle;
use crate::nodes::{look, path_of, stat};
use crate::server::Server;
use crate::wire::{Answer, Fields};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, fstat, linkat, mkdirat, mknodat, open,
    openat, renameat_with, symlinkat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::CStr;

/// What the permissions of something new can be.
fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode & 0o7777)
}

impl Server {
    /// Says what a name in a folder leads to, and remembers that it was said (`struct fuse_entry_out`).
    pub(crate) fn entry(
        &mut self,
        folder: u64,
        name: &CStr,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        let fd = look(self.nodes.fd(folder)?, name)?;
        self.found(folder, name, fd, answer).map(drop)
    }

    /// The same of a file that was found there; its number.
    fn found(
        &mut self,
        folder: u64,
        name: &CStr,
        fd: OwnedFd,
        answer: &mut Answer,
    ) -> Result<u64, Errno> {
        let mut found = stat(&fd)?;
        let id = self.nodes.know(fd, &found, folder, name)?;
        let node = self.nodes.get(id)?;
        // What the folder's watch does not see is watched itself.
        let own = node.kind == FileType::Directory
            || found.stx_nlink > 1
            || self.nodes.get(folder)?.key.mount != node.key.mount;
        if own && node.watch.is_none() {
            self.watch(id)?;
            found = stat(self.nodes.fd(id)?)?;
        }
        self.tell_as_found(id, &found)?;
        let is_kept = self.nodes.name(folder, name, Some(id)) && self.is_watched(folder);
        answer.u64(id);
        answer.u64(0);
        answer.u64(if is_kept { KEPT } else { 0 });
        answer.u64(self.kept(id, &found));
        answer.zeros(8);
        self.attributes(&found, answer);
        Ok(id)
    }

    /// Where a copy has taken the name that a file was given, the guest is told.
    fn check_name(&mut self, folder: u64, name: &CStr) -> Result<(), Errno> {
        let Some(id) = self.known(folder, name) else {
            return Ok(());
        };
        if self.nodes.key_at(folder, name) == Some(self.nodes.get(id)?.key) {
            return Ok(());
        }
        self.nodes.unname(folder, name);
        self.tell_of_name(folder, name, 0).map_err(|_| Errno::IO)
    }

    /// The file of which the guest was told by a name.
    fn known(&self, folder: u64, name: &CStr) -> Option<u64> {
        self.nodes.told_of(folder, name).flatten()
    }

    pub(crate) fn is_watched(&self, folder: u64) -> bool {
        let node = self.nodes.get(folder);
        node.is_ok_and(|node| node.watch.is_some())
    }

    pub(crate) fn lookup(
        &mut self,
        folder: u64,
        name: &CStr,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        match self.entry(folder, name, answer) {
            // That nothing is there is kept as well.
            Err(Errno::NOENT) if self.is_watched(folder) && self.nodes.name(folder, name, None) => {
                answer.zeros(16);
                answer.u64(KEPT);
                answer.zeros(128 - 24);
                Ok(())
            }
            other => other,
        }
    }

    pub(crate) fn mknod(
        &mut self,
        folder: u64,
        mut body: Fields<'_>,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        let mode = body.u32()?;
        body.skip(12)?;
        let name = body.name()?;
        let at = self.nodes.fd(folder)?;
        match FileType::from_raw_mode(mode) {
            FileType::RegularFile => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                drop(openat(at, name, flags, permissions(mode))?);
            }
            kind @ (FileType::Fifo | FileType::Socket) => {
                mknodat(at, name, kind, permissions(mode), 0)?;
            }
            _ => return Err(Errno::PERM),
        }
        self.entry(folder, name, answer)
    }

    pub(crate) fn mkdir(
        &mut self,
        folder: u64,
        mut body: Fields<'_>,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        let mode = body.u32()?;
        body.skip(4)?;
        let name = body.name()?;
        mkdirat(self.nodes.fd(folder)?, name, permissions(mode))?;
        self.entry(folder, name, answer)
    }

    pub(crate) fn symlink(
        &mut self,
        folder: u64,
        mut body: Fields<'_>,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        let (name, target) = (body.name()?, body.text()?);
        symlinkat(target, self.nodes.fd(folder)?, name)?;
        self.entry(folder, name, answer)
    }

    pub(crate) fn link(
        &mut self,
        folder: u64,
        mut body: Fields<'_>,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        let (old, name) = (body.u64()?, body.name()?);
        let from = path_of(self.nodes.fd(old)?);
        let to = self.nodes.fd(folder)?;
        linkat(CWD, from, to, name, AtFlags::SYMLINK_FOLLOW)?;
        self.entry(folder, name, answer)
    }

    pub(crate) fn unlink(&mut self, folder: u64, name: &CStr, flags: AtFlags) -> Result<(), Errno> {
        unlinkat(self.nodes.fd(folder)?, name, flags)?;
        if let Some(id) = self.known(folder, name) {
            self.nodes.unnamed(id, folder, name);
            if let Ok(found) = self.nodes.fd(id).and_then(stat)
                && found.stx_nlink == 0
            {
                self.nodes.give_up(id);
            }
        }
        self.nodes.name(folder, name, None);
        Ok(())
    }

    pub(crate) fn rename(
        &mut self,
        folder: u64,
        mut body: Fields<'_>,
        has_flags: bool,
    ) -> Result<(), Errno> {
        let to_folder = body.u64()?;
        let flags = match has_flags {
            true => {
                let flags = body.u32()?;
                body.skip(4)?;
                RenameFlags::from_bits(flags).ok_or(Errno::INVAL)?
            }
            false => RenameFlags::empty(),
        };
        let (name, to_name) = (body.name()?, body.name()?);
        if flags.contains(RenameFlags::WHITEOUT) {
            return Err(Errno::INVAL);
        }
        // Each of them may close the other's descriptor.
        let from = self.nodes.fd(folder)?.try_clone_to_owned();
        let from = from.map_err(|_| Errno::MFILE)?;
        let to = self.nodes.fd(to_folder)?;
        renameat_with(from, name, to, to_name, flags)?;
        let (old, new) = ((folder, name), (to_folder, to_name));
        let moved = self.known(folder, name);
        let other = self.known(to_folder, to_name);
        let back = other.filter(|_| flags.contains(RenameFlags::EXCHANGE));
        if let Some(id) = other.filter(|_| back.is_none()) {
            self.nodes.unnamed(id, to_folder, to_name);
        }
        for (id, from, to) in [(moved, old, new), (back, new, old)] {
            self.nodes.name(to.0, to.1, id);
            if let Some(id) = id {
                self.nodes.moved(id, from, to);
            }
            // What is changed by its name is changed: the guest knows.
            if let Some(id) = id
                && let Ok(found) = self.nodes.fd(id).and_then(stat)
            {
                self.own_change(id, &found);
            }
            self.check_name(to.0, to.1)?;
        }
        Ok(())
    }

    /// Makes a file, unless it is there, and opens it. Where something else is there it is to be looked up
    /// (`ELOOP`).
    pub(crate) fn create(
        &mut self,
        folder: u64,
        mut body: Fields<'_>,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        let (flags, mode) = (body.u32()?, body.u32()?);
        body.skip(8)?;
        let name = body.name()?;
        let only_new = OFlags::from_bits_retain(flags).contains(OFlags::EXCL);
        let how = Handle::flags(flags) | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let at = self.nodes.fd(folder)?;
        let new = how | OFlags::CREATE | OFlags::EXCL;
        let (file, was_there) = match openat(at, name, new, permissions(mode)) {
            Err(Errno::EXIST) if !only_new => {
                // A pipe is not opened, nor a link followed.
                let found = stat(look(at, name)?)?;
                if FileType::from_raw_mode(found.stx_mode.into()) != FileType::RegularFile {
                    return Err(Errno::LOOP);
                }
                (openat(at, name, how, Mode::empty())?, true)
            }
            made => (made?, false),
        };
        self.made(folder, name, file, flags, was_there, answer)
    }

    /// Makes a file without a name, and opens it.
    pub(crate) fn tmpfile(
        &mut self,
        folder: u64,
        mut body: Fields<'_>,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        let (flags, mode) = (body.u32()?, body.u32()?);
        let exclusive = OFlags::from_bits_retain(flags) & OFlags::EXCL;
        let at = path_of(self.nodes.fd(folder)?);
        let how = Handle::flags(flags) | OFlags::TMPFILE | exclusive;
        let file = open(at, how, permissions(mode))?;
        self.made(folder, c"", file, flags, false, answer)
    }

    fn made(
        &mut self,
        folder: u64,
        name: &CStr,
        file: OwnedFd,
        flags: u32,
        was_there: bool,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        // Somebody else may have made something else of that name.
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(Errno::LOOP);
        }
        let look = OFlags::PATH | OFlags::CLOEXEC;
        let fd = open(path_of(file.as_fd()), look, Mode::empty())?;
        let id = self.found(folder, name, fd, answer)?;
        if name.is_empty() {
            self.nodes.unname(folder, name);
        }
        self.opened(id, file, flags, was_there, answer)
    }
}
