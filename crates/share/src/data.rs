//! Contents of files: opened, read, written, allocated, copied.

use crate::nodes::{Key, Told, path_of, stat};
use crate::server::Server;
use crate::slow::FsyncRequest;
use crate::wire::{Answer, Fields, PART};
use rustix::fd::OwnedFd;
use rustix::fs::{
    FallocateFlags, FileType, Mode, OFlags, SeekFrom, copy_file_range, fallocate, open, openat,
    seek,
};
use rustix::io::{Errno, ReadWriteFlags, pread, pwritev2};
use std::io::IoSlice;
use std::sync::Arc;

/// What the guest has of the file's contents is still true (`FOPEN_KEEP_CACHE`).
const KEEP_CACHE: u32 = 1 << 1;
/// Nothing need be told when the file is closed (`FOPEN_NOFLUSH`).
const NO_FLUSH: u32 = 1 << 5;
/// It is written back what was written to memory before (`FUSE_WRITE_CACHE`).
const WRITE_CACHE: u32 = 1;
/// The file that was to be created was there (`images/kernel.patch`).
const WAS_THERE: u32 = 1 << 31;

/// The place behind so many bytes of a file.
fn behind(offset: u64, bytes: usize) -> Result<u64, Errno> {
    offset.checked_add(bytes as u64).ok_or(Errno::INVAL)
}

/// A file that is open.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) file: Arc<OwnedFd>,
    node: u64,
}

impl Handle {
    /// How a file is opened here that the guest opens with these flags.
    pub(crate) fn flags(flags: u32) -> OFlags {
        // What is appended says so each time, because what is written back is not.
        let kept = OFlags::ACCMODE | OFlags::TRUNC;
        (OFlags::from_bits_retain(flags) & kept) | OFlags::CLOEXEC
    }
}

impl Server {
    pub(crate) fn open(
        &mut self,
        id: u64,
        mut body: Fields<'_>,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        let flags = body.u32()?;
        // Pipes, sockets and devices are the guest's own.
        if self.nodes.get(id)?.kind != FileType::RegularFile {
            return Err(Errno::NXIO);
        }
        if Handle::flags(flags).contains(OFlags::TRUNC) {
            self.before_own_change(id)?;
        }
        let file = self.open_node(id, Handle::flags(flags))?;
        self.opened(id, file, flags, false, answer)
    }

    /// Opens a file. One that has several names and is to be written is opened by the name at which it was found:
    /// where it has others outside of what may be written, a copy of it takes that name first.
    pub(crate) fn open_node(&mut self, id: u64, how: OFlags) -> Result<OwnedFd, Errno> {
        let writes = how.intersects(OFlags::WRONLY | OFlags::RDWR | OFlags::TRUNC);
        let found = stat(self.nodes.fd(id)?)?;
        let (folder, name) = self.nodes.get(id)?.place();
        let name = name.to_owned();
        if !writes || found.stx_nlink < 2 || name.is_empty() {
            let path = path_of(self.nodes.fd(id)?);
            return open(path, how, Mode::empty());
        }
        let how = how | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = openat(self.nodes.fd(folder)?, &name, how, Mode::empty())?;
        let key = Key::of(&stat(&file)?);
        if key != self.nodes.get(id)?.key {
            let fd = open(
                path_of(&file),
                OFlags::PATH | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            let former = self.nodes.became(id, key, fd).ok_or(Errno::STALE)?;
            if let Some(watch) = former.watch {
                self.watches.remove(watch);
            }
            for (folder, name) in former.names {
                self.nodes.unname(folder, &name);
                let told = self.tell_of_name(folder, &name, 0);
                told.map_err(|_| Errno::IO)?;
            }
        }
        Ok(file)
    }

    /// Remembers an open file (`struct fuse_open_out`).
    pub(crate) fn opened(
        &mut self,
        id: u64,
        file: OwnedFd,
        flags: u32,
        was_there: bool,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        let found = stat(&file)?;
        if Handle::flags(flags).contains(OFlags::TRUNC) {
            self.own_change(id, &found);
        }
        let node = self.nodes.get(id)?;
        // What others have changed meanwhile is told soon; what is kept of it is not true already.
        let is_same = node
            .told
            .is_some_and(|told| told.has_contents_of(&Told::of(&found)));
        let kept = is_same && self.kept(id, &found) > 0;
        let handle = self.next_handle;
        self.next_handle += 1;
        self.nodes.get_mut(id)?.handles.push(handle);
        self.handles.insert(
            handle,
            Handle {
                file: Arc::new(file),
                node: id,
            },
        );
        answer.u64(handle);
        let kept = if kept { KEEP_CACHE } else { 0 };
        answer.u32(NO_FLUSH | kept | if was_there { WAS_THERE } else { 0 });
        answer.u32(0);
        Ok(())
    }

    pub(crate) fn release(&mut self, mut body: Fields<'_>) -> Result<(), Errno> {
        let number = body.u64()?;
        let handle = self.handles.remove(&number).ok_or(Errno::BADF)?;
        if let Ok(node) = self.nodes.get_mut(handle.node) {
            node.handles.retain(|open| *open != number);
        }
        if let Some(watch) = self.nodes.let_go(handle.node) {
            self.watches.remove(watch);
        }
        Ok(())
    }

    fn handle(&self, number: u64) -> Result<&Handle, Errno> {
        self.handles.get(&number).ok_or(Errno::BADF)
    }

    pub(crate) fn read(&mut self, mut body: Fields<'_>, answer: &mut Answer) -> Result<(), Errno> {
        let (number, offset) = (body.u64()?, body.u64()?);
        let size = (body.u32()? as usize).min(PART);
        let handle = self.handle(number)?;
        let mut filled = 0;
        let room = answer.room(size);
        while let Some(rest) = room.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match pread(&*handle.file, rest, behind(offset, filled)?) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(Errno::INTR) => {}
                Err(_) if filled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        answer.cut(filled);
        Ok(())
    }

    pub(crate) fn write(&mut self, mut body: Fields<'_>, answer: &mut Answer) -> Result<(), Errno> {
        let (number, offset) = (body.u64()?, body.u64()?);
        let size = body.u32()? as usize;
        let written_back = body.u32()? & WRITE_CACHE != 0;
        body.skip(8)?;
        let flags = OFlags::from_bits_retain(body.u32()?);
        body.skip(4)?;
        // What a program appends goes to the end, wherever the guest believes that to be.
        let appends = flags.contains(OFlags::APPEND) && !written_back;
        let how = match appends {
            true => ReadWriteFlags::APPEND,
            false => ReadWriteFlags::empty(),
        };
        let bytes = body.0.get(..size).ok_or(Errno::INVAL)?;
        self.before_own_change(self.handle(number)?.node)?;
        let handle = self.handle(number)?;
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            let parts = [IoSlice::new(rest)];
            match pwritev2(&*handle.file, &parts, behind(offset, written)?, how) {
                Ok(wrote) => written += wrote,
                Err(Errno::INTR) => {}
                Err(_) if written > 0 => break,
                Err(error) => return Err(error),
            }
        }
        let found = stat(&*handle.file)?;
        let id = handle.node;
        let end = behind(offset, written)?;
        self.own_change(id, &found);
        if appends && found.stx_size != end {
            // Somebody else has written to the end as well: it lies elsewhere than the guest believes.
            self.tell_of_file(id, true).map_err(|_| Errno::IO)?;
        }
        answer.u32(u32::try_from(written).unwrap_or_default());
        answer.u32(0);
        Ok(())
    }

    /// Has a file's contents on the disk; answered by whoever does it.
    pub(crate) fn fsync(&mut self, unique: u64, mut body: Fields<'_>) -> Result<(), Errno> {
        let (number, flags) = (body.u64()?, body.u32()?);
        let file = Arc::clone(&self.handle(number)?.file);
        let data = flags & 1 != 0;
        self.slow.ask(FsyncRequest { unique, file, data })
    }

    pub(crate) fn fallocate(&mut self, mut body: Fields<'_>) -> Result<(), Errno> {
        let (number, offset, length) = (body.u64()?, body.u64()?, body.u64()?);
        let mode = FallocateFlags::from_bits(body.u32()?).ok_or(Errno::OPNOTSUPP)?;
        self.before_own_change(self.handle(number)?.node)?;
        let handle = self.handle(number)?;
        fallocate(&*handle.file, mode, offset, length)?;
        let (id, found) = (handle.node, stat(&*handle.file)?);
        self.own_change(id, &found);
        Ok(())
    }

    pub(crate) fn lseek(&mut self, mut body: Fields<'_>, answer: &mut Answer) -> Result<(), Errno> {
        let (number, offset, whence) = (body.u64()?, body.u64()?, body.u32()?);
        let to = match whence.cast_signed() {
            libc::SEEK_DATA => SeekFrom::Data(offset),
            libc::SEEK_HOLE => SeekFrom::Hole(offset),
            _ => return Err(Errno::INVAL),
        };
        answer.u64(seek(&*self.handle(number)?.file, to)?);
        Ok(())
    }

    pub(crate) fn copy_file_range(
        &mut self,
        mut body: Fields<'_>,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        let (from, mut from_offset) = (body.u64()?, body.u64()?);
        let (id, to, mut to_offset) = (body.u64()?, body.u64()?, body.u64()?);
        let length = usize::try_from(body.u64()?).unwrap_or(usize::MAX);
        self.before_own_change(self.handle(to)?.node)?;
        let (from, to) = (self.handle(from)?, self.handle(to)?);
        // At most 16 MiB at once, because all other requests wait; the guest asks again for the rest.
        let length = length.min(16 * PART);
        let copied = copy_file_range(
            &*from.file,
            Some(&mut from_offset),
            &*to.file,
            Some(&mut to_offset),
            length,
        )?;
        let found = stat(&*to.file)?;
        self.own_change(id, &found);
        answer.u32(u32::try_from(copied).unwrap_or_default());
        answer.u32(0);
        Ok(())
    }
}
