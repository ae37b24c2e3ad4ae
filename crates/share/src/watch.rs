//! What others change on the host is told to the guest (inotify(7)).
//!
//! Invariant: what the guest may keep is watched before it is read here. Whether a change is news is decided
//! by what is there now and what the guest was told last, so that its own changes are none, and changes that the
//! kernel tells as one are not lost.

use crate::nodes::{Told, path_of, stat};
use crate::server::Server;
use crate::wire::{Answer, EVENT, INVAL_ENTRY, INVAL_INODE};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::fstatfs;
use rustix::fs::inotify::{self, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;

/// What is heard of: names that come and go, contents and attributes.
const CHANGES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB);

/// What the host is watched with. Whoever has something to say to the guest beside this stream looks at both
/// descriptors, and has the guest ask how much room there is (`FUSE_STATFS`) first where one of them is readable:
/// everything that was changed before is told before the answer.
#[derive(Debug)]
pub struct Watching {
    /// Where the kernel tells of changes (inotify(7)), without waiting; where it is something else the guest keeps
    /// nothing.
    pub inotify: OwnedFd,
    /// A counter that is not zero while changes are passed on, and afterwards until somebody has read it down to
    /// zero (eventfd(2), `EFD_SEMAPHORE` and `EFD_NONBLOCK`: each time is one of it).
    pub passed: OwnedFd,
    /// So many files and folders are watched at most.
    pub most: usize,
}

/// The watches.
#[derive(Debug)]
pub(crate) struct Watches {
    with: Watching,
    by_number: HashMap<i32, u64>,
}

/// What was heard.
#[derive(Debug, Default)]
struct Heard {
    /// Everything may have changed.
    lost: bool,
    /// What became of names in folders, and of files themselves.
    names: BTreeMap<(u64, Option<CString>), ReadFlags>,
    /// What is not watched any more.
    unwatched: Vec<u64>,
}

/// File systems whose changes all go through this kernel, which tells of them (statfs(2), `f_type`). What others
/// do to one of a network is told to nobody here.
const LOCAL: [u32; 15] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683e, // btrfs
    0x0102_1994, // tmpfs
    0x8584_58f6, // ramfs
    0x794c_7630, // overlayfs
    0x2fc1_2fc1, // zfs
    0xf2f5_2010, // f2fs
    0xca45_1a4e, // bcachefs
    0x3153_464a, // jfs
    0x3434,      // nilfs2
    0x4d44,      // vfat
    0x2011_bab0, // exfat
    0xe0f5_e1e2, // erofs
    0x7371_7368, // squashfs
];

fn is_local(fd: impl AsFd) -> bool {
    // The numbers have 32 bits; how wide the field is depends on the machine.
    let kind = fstatfs(fd).map(|found| found.f_type as u32);
    kind.is_ok_and(|kind| LOCAL.contains(&kind))
}

impl Watches {
    /// None so far.
    pub(crate) fn new(with: Watching) -> Self {
        Self {
            with,
            by_number: HashMap::new(),
        }
    }

    /// Readable when something was changed.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.with.inotify.as_fd()
    }

    /// Watches a file or folder; the number of the watch, where that is possible.
    pub(crate) fn add(&mut self, id: u64, fd: impl AsFd) -> Option<i32> {
        if self.by_number.len() >= self.with.most || !is_local(&fd) {
            return None;
        }
        let number = inotify::add_watch(&self.with.inotify, path_of(fd), CHANGES).ok()?;
        // A watch belongs to an inode. The same file by another mount is another node, and gets none.
        match self.by_number.get(&number) {
            Some(other) if *other != id => None,
            _ => {
                self.by_number.insert(number, id);
                Some(number)
            }
        }
    }

    pub(crate) fn remove(&mut self, number: i32) {
        if self.by_number.remove(&number).is_some() {
            let _ = inotify::remove_watch(&self.with.inotify, number);
        }
    }

    /// Whether events wait. If so `passed` is raised until [`Watches::passed_on`].
    fn begin(&self) -> bool {
        let waits = rustix::io::ioctl_fionread(&self.with.inotify);
        if !matches!(waits, Ok(1..)) {
            return false;
        }
        let _ = rustix::io::write(&self.with.passed, &1_u64.to_ne_bytes());
        true
    }

    /// What was changed has been passed on. Others need not know of this time where there was no `news` in it; they
    /// may still have to know of one before.
    fn passed_on(&self, news: bool) {
        if !news {
            let _ = rustix::io::read(&self.with.passed, &mut [0; 8]);
        }
    }

    /// What was heard since the last time.
    fn hear(&mut self) -> io::Result<Heard> {
        let mut heard = Heard::default();
        let mut space = [MaybeUninit::uninit(); 64 * 1024];
        let mut reader = Reader::new(&self.with.inotify, &mut space);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Ok(heard),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                heard.lost = true;
            }
            let number = event.wd();
            let Some(id) = self.by_number.get(&number).copied() else {
                continue;
            };
            if flags.contains(ReadFlags::IGNORED) {
                self.by_number.remove(&number);
                heard.unwatched.push(id);
                continue;
            }
            let name = event.file_name().map(CStr::to_owned);
            *heard.names.entry((id, name)).or_insert(ReadFlags::empty()) |= flags;
        }
    }
}

/// A name is looked up again, and nothing of it is forgotten before (`FUSE_EXPIRE_ONLY`).
const EXPIRE_ONLY: u32 = 1;

/// What became of a name: it came, or it went.
const NAMES: ReadFlags = ReadFlags::CREATE
    .union(ReadFlags::DELETE)
    .union(ReadFlags::MOVED_FROM)
    .union(ReadFlags::MOVED_TO);

impl Server {
    /// Watches a file or folder from here on, where that is possible.
    pub(crate) fn watch(&mut self, id: u64) -> Result<(), Errno> {
        let watch = self.watches.add(id, self.nodes.fd(id)?);
        self.nodes.get_mut(id)?.watch = watch;
        Ok(())
    }

    /// Tells the guest what others have changed.
    pub(crate) fn tell_of_changes(&mut self) -> io::Result<()> {
        if !self.watches.begin() {
            return Ok(());
        }
        let heard = self.watches.hear()?;
        self.tell_of(heard)?;
        // Also what was told with an answer since the last time: the guest may not have heard of it.
        let notified = self.port.notified();
        self.watches.passed_on(notified > self.notified);
        self.notified = notified;
        Ok(())
    }

    fn tell_of(&mut self, heard: Heard) -> io::Result<()> {
        for id in heard.unwatched {
            if let Ok(node) = self.nodes.get_mut(id) {
                node.watch = None;
                self.doubt(id)?;
            }
        }
        if heard.lost {
            for id in self.nodes.ids() {
                self.doubt(id)?;
            }
            return Ok(());
        }
        for ((id, name), flags) in heard.names {
            match name {
                Some(name) => self.compare_in(id, &name, flags)?,
                None => {
                    if let Some(what) = self.compare(id)? {
                        self.tell_watchers(0, id, c"", what)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Tells what became of a name in a folder, and of what it leads to.
    fn compare_in(&mut self, folder: u64, name: &CStr, flags: ReadFlags) -> io::Result<()> {
        let is_folder = flags & ReadFlags::ISDIR;
        if flags.intersects(NAMES)
            && let Some(what) = self.compare_name(folder, name)?
        {
            self.tell_watchers(folder, 0, name, what | is_folder)?;
        }
        let (id, what) = match self.nodes.told_of(folder, name) {
            Some(Some(id)) => (id, self.compare(id)?),
            // Of what the guest has not looked at, it has changed nothing.
            None => (0, Some(flags & (ReadFlags::MODIFY | ReadFlags::ATTRIB))),
            Some(None) => (0, None),
        };
        match what {
            Some(what) if !what.is_empty() => {
                self.tell_watchers(folder, id, name, what | is_folder)
            }
            _ => Ok(()),
        }
    }

    /// Tells of a name that leads elsewhere than the guest was told: whether it came or went, as an event.
    fn compare_name(&mut self, folder: u64, name: &CStr) -> io::Result<Option<ReadFlags>> {
        if self.nodes.get(folder).is_err() {
            return Ok(None);
        }
        let told = self.nodes.told_of(folder, name);
        let found = self.nodes.key_at(folder, name);
        let told_key = told.map(|told| {
            told.and_then(|id| self.nodes.get(id).ok())
                .map(|node| node.key)
        });
        if told_key == Some(found) {
            return Ok(None);
        }
        for id in [told.flatten(), found.and_then(|key| self.nodes.with(&key))] {
            id.map_or(Ok(()), |id| self.follow(id))?;
        }
        self.nodes.unname(folder, name);
        if told.is_some() {
            self.tell_of_name(folder, name, 0)?;
        }
        // Its listing is another too.
        self.tell_of_file(folder, true)?;
        Ok(Some(match found {
            Some(_) => ReadFlags::CREATE,
            None => ReadFlags::DELETE,
        }))
    }

    /// A file has come to another name, or has lost one, without the guest: where the folder of that name is not
    /// watched, what is changed by it is told no more. So the file is watched itself. One that has no name any more
    /// is not held, so that its room is free.
    fn follow(&mut self, id: u64) -> io::Result<()> {
        let found = self.nodes.fd(id).and_then(stat);
        let (Ok(found), Ok(node)) = (found, self.nodes.get(id)) else {
            return Ok(());
        };
        if found.stx_nlink == 0 {
            self.nodes.give_up(id);
        } else if node.watch.is_none() {
            self.watch(id)?;
        }
        self.tell_of_file(id, true)
    }

    /// Tells of a file that is another than the guest was told: how it is, as an event.
    fn compare(&mut self, id: u64) -> io::Result<Option<ReadFlags>> {
        let found = self.nodes.fd(id).and_then(stat);
        let (Ok(found), Ok(node)) = (found, self.nodes.get_mut(id)) else {
            return Ok(None);
        };
        let now = Told::of(&found);
        let told = node.told.replace(now);
        if told == Some(now) {
            return Ok(None);
        }
        let contents = told.is_none_or(|told| !now.has_contents_of(&told));
        self.tell_of_file(id, contents)?;
        Ok(Some(match contents {
            true => ReadFlags::MODIFY,
            false => ReadFlags::ATTRIB,
        }))
    }

    /// Tells that nothing of what the guest knows of a file or folder can be relied on.
    fn doubt(&mut self, id: u64) -> io::Result<()> {
        let Ok(node) = self.nodes.get(id) else {
            return Ok(());
        };
        let names: Vec<CString> = node.children.keys().cloned().collect();
        for name in names {
            self.nodes.unname(id, &name);
            // It is looked up again where it is used; a name that is what it was keeps what is mounted there.
            self.tell_of_name(id, &name, EXPIRE_ONLY)?;
        }
        self.tell_of_file(id, true)
    }

    /// Has the guest forget what it knows of a file: its attributes, and what it says as well where
    /// that may be another.
    pub(crate) fn tell_of_file(&self, id: u64, contents: bool) -> io::Result<()> {
        let mut says = Answer::new();
        says.u64(id);
        // Before the beginning: the attributes alone. No length is up to the end.
        says.u64(if contents { 0 } else { u64::MAX });
        says.u64(0);
        self.port.notify(INVAL_INODE, says)
    }

    pub(crate) fn tell_of_name(&self, folder: u64, name: &CStr, flags: u32) -> io::Result<()> {
        let mut says = Answer::new();
        says.u64(folder);
        says.u32(u32::try_from(name.count_bytes()).unwrap_or_default());
        says.u32(flags);
        says.bytes(name.to_bytes_with_nul());
        self.port.notify(INVAL_ENTRY, says)
    }

    /// Tells programs of the guest that watch what became of a name in a folder, or of a file (inotify(7)); 0 is
    /// none that the guest knows.
    fn tell_watchers(&self, folder: u64, id: u64, name: &CStr, what: ReadFlags) -> io::Result<()> {
        let mut events = vec![what];
        if what.contains(ReadFlags::MODIFY) {
            // Some wait until whoever writes has closed it.
            events.push((what - ReadFlags::MODIFY) | ReadFlags::CLOSE_WRITE);
        }
        for event in events {
            let mut says = Answer::new();
            says.u64(folder);
            says.u64(id);
            says.u32(event.bits());
            says.u32(u32::try_from(name.count_bytes()).unwrap_or_default());
            says.bytes(name.to_bytes_with_nul());
            self.port.notify(EVENT, says)?;
        }
        Ok(())
    }
}
