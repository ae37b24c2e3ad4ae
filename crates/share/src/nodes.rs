//! What the guest knows of the host's files: a number for each, by which it asks.
//!
//! Invariant: a number stands for one file as long as the guest knows it, whatever becomes of its name. A
//! descriptor holds the file; where there are too many of them the oldest are closed, and opened again by the
//! name that was last heard of, if that is the same file.

use rustix::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Statx, StatxFlags, openat, statx};
use rustix::io::Errno;
use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, CString};
use std::path::Path;

/// The number of the folder that is shared (`FUSE_ROOT_ID`).
pub(crate) const ROOT: u64 = 1;
/// How a name is looked at: what it is, whatever it leads to.
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// So many files the guest may know; an honest one of some gigabytes knows fewer.
const KNOWN: usize = 1 << 21;
/// So many names are remembered that were told not to be there.
const ABSENT: usize = 1 << 16;

/// What tells files apart: a device, a number on it, when the file was made, and by which mount it is seen. Where
/// a file system does not know when (0), a number that is used again is the file that had it before, until the guest has
/// forgotten that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) device: (u32, u32),
    pub(crate) inode: u64,
    born: (i64, u32),
    pub(crate) mount: u64,
}

impl Key {
    pub(crate) fn of(stat: &Statx) -> Self {
        Self {
            device: (stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            born: (stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec),
            mount: stat.stx_mnt_id,
        }
    }
}

/// What the guest was told of a file last; where it is another, the file was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) size: u64,
    pub(crate) modified: (i64, u32),
    changed: (i64, u32),
}

impl Told {
    pub(crate) fn of(stat: &Statx) -> Self {
        Self {
            size: stat.stx_size,
            modified: (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec),
            changed: (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec),
        }
    }

    /// Whether what the file says may be the same.
    pub(crate) fn has_contents_of(&self, other: &Self) -> bool {
        (self.size, self.modified) == (other.size, other.modified)
    }
}

/// A file or folder that the guest knows.
#[derive(Debug)]
pub(crate) struct Node {
    fd: Option<OwnedFd>,
    pub(crate) key: Key,
    pub(crate) kind: FileType,
    /// Folders and names by which it was found, the last one by which it is held at the end.
    names: Vec<(u64, CString)>,
    /// So often the guest was told of it and has not forgotten it.
    looked: u64,
    /// Files of it that are open.
    pub(crate) handles: Vec<u64>,
    /// Names in it of which the guest was told: what is there, or that nothing is.
    pub(crate) children: HashMap<CString, Option<u64>>,
    /// The number by which it is watched, where it is.
    pub(crate) watch: Option<i32>,
    /// What it was told last; nothing yet while that is put together.
    pub(crate) told: Option<Told>,
}

impl Node {
    /// The folder and name by which it is found.
    pub(crate) fn place(&self) -> (u64, &CStr) {
        self.names
            .last()
            .map_or((0, c""), |(folder, name)| (*folder, name))
    }
}

/// What a node was before another file took its place.
#[derive(Debug)]
pub(crate) struct Former {
    /// The number of its watch.
    pub(crate) watch: Option<i32>,
    /// Folders and names that lead to it still.
    pub(crate) names: Vec<(u64, CString)>,
}

/// Everything that the guest knows.
#[derive(Debug)]
pub(crate) struct Nodes {
    all: HashMap<u64, Node>,
    by_key: HashMap<Key, u64>,
    next: u64,
    /// Those with a descriptor, the oldest first; some have none any more.
    held: VecDeque<u64>,
    /// So many descriptors may be held.
    most: usize,
    /// Names that were told not to be there.
    absent: usize,
}

/// What is known of an open file.
pub(crate) fn stat(fd: impl AsFd) -> Result<Statx, Errno> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME | StatxFlags::MNT_ID;
    statx(fd, c"", AtFlags::EMPTY_PATH, wanted)
}

/// The path by which a descriptor's file can be opened or changed.
pub(crate) fn path_of(fd: impl AsFd) -> String {
    format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())
}

/// Looks at a name in a folder.
pub(crate) fn look(folder: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    openat(folder, name, LOOK, Mode::empty())
}

impl Nodes {
    /// Knows the folder that is shared; `most` descriptors are held.
    pub(crate) fn new(root: &Path, most: usize) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(root, flags, Mode::empty())?;
        let found = stat(&fd)?;
        let mut nodes = Self {
            all: HashMap::new(),
            by_key: HashMap::new(),
            next: ROOT,
            held: VecDeque::new(),
            most,
            absent: 0,
        };
        nodes.know(fd, &found, 0, c"")?;
        Ok(nodes)
    }

    pub(crate) fn get(&self, id: u64) -> Result<&Node, Errno> {
        self.all.get(&id).ok_or(Errno::STALE)
    }

    pub(crate) fn get_mut(&mut self, id: u64) -> Result<&mut Node, Errno> {
        self.all.get_mut(&id).ok_or(Errno::STALE)
    }

    /// The numbers of all.
    pub(crate) fn ids(&self) -> Vec<u64> {
        self.all.keys().copied().collect()
    }

    /// The number of a file that is known.
    pub(crate) fn with(&self, key: &Key) -> Option<u64> {
        self.by_key.get(key).copied()
    }

    /// A file that has no name any more is not held but by who has it open.
    pub(crate) fn give_up(&mut self, id: u64) {
        if let Some(node) = self.all.get_mut(&id)
            && node.kind == FileType::RegularFile
            && node.handles.is_empty()
        {
            node.fd = None;
        }
    }

    /// A file has become another one, which has its last name. The watch of the former one, and the names that
    /// lead there still; none where that other one is known by a number of its own.
    pub(crate) fn became(&mut self, id: u64, key: Key, fd: OwnedFd) -> Option<Former> {
        if self.by_key.contains_key(&key) {
            return None;
        }
        let node = self.all.get_mut(&id)?;
        self.by_key.remove(&node.key);
        self.by_key.insert(key, id);
        node.key = key;
        node.fd = Some(fd);
        node.told = None;
        let name = node.names.pop();
        let others = std::mem::replace(&mut node.names, name.into_iter().collect());
        Some(Former {
            watch: node.watch.take(),
            names: others,
        })
    }

    /// The number of a file, which is known from here on; the guest is told of it once more.
    ///
    /// # Errors
    /// `ENOMEM` where the guest knows too many.
    pub(crate) fn know(
        &mut self,
        fd: OwnedFd,
        found: &Statx,
        parent: u64,
        name: &CStr,
    ) -> Result<u64, Errno> {
        let key = Key::of(found);
        let id = match self.by_key.get(&key) {
            Some(id) => *id,
            None if self.all.len() >= KNOWN => return Err(Errno::NOMEM),
            None => {
                let id = self.next;
                self.next += 1;
                self.by_key.insert(key, id);
                let node = Node {
                    fd: None,
                    key,
                    kind: FileType::from_raw_mode(found.stx_mode.into()),
                    names: Vec::new(),
                    looked: 0,
                    handles: Vec::new(),
                    children: HashMap::new(),
                    watch: None,
                    told: None,
                };
                self.all.insert(id, node);
                id
            }
        };
        if let Some(node) = self.all.get_mut(&id) {
            node.looked += 1;
            // The descriptor by this name is taken: the one that is held may be of a name that was removed.
            let is_held = node.fd.is_some();
            if !is_held || node.place() != (parent, name) {
                node.names
                    .retain(|(folder, old)| (*folder, &**old) != (parent, name));
                node.names.push((parent, name.to_owned()));
                node.fd = Some(fd);
            }
            if !is_held {
                self.hold(id);
            }
        }
        Ok(id)
    }

    fn hold(&mut self, id: u64) {
        self.held.push_back(id);
        // The folder that is shared has no name by which it could be found again, nor has an open file that is removed.
        for _ in 0..self.held.len() {
            if self.held.len() <= self.most {
                break;
            }
            let Some(old) = self.held.pop_front() else {
                break;
            };
            match self.all.get_mut(&old) {
                Some(node) if old == ROOT || old == id || !node.handles.is_empty() => {
                    self.held.push_back(old);
                }
                Some(node) => node.fd = None,
                None => {}
            }
        }
    }

    /// A descriptor of a file (`O_PATH`), opened again where it was closed.
    ///
    /// # Errors
    /// `ESTALE` where it cannot be found any more.
    pub(crate) fn fd(&mut self, id: u64) -> Result<BorrowedFd<'_>, Errno> {
        let mut missing = Vec::new();
        let mut at = id;
        while self.get(at)?.fd.is_none() {
            missing.push(at);
            at = self.get(at)?.place().0;
            if missing.len() > self.all.len() {
                return Err(Errno::STALE);
            }
        }
        for id in missing.into_iter().rev() {
            let node = self.get(id)?;
            let (folder, name) = node.place();
            let folder = self.get(folder)?.fd.as_ref().ok_or(Errno::STALE)?;
            let fd = look(folder, name).map_err(|_| Errno::STALE)?;
            if Key::of(&stat(&fd)?) != node.key {
                return Err(Errno::STALE);
            }
            self.get_mut(id)?.fd = Some(fd);
            self.hold(id);
        }
        self.get(id)?
            .fd
            .as_ref()
            .map(AsFd::as_fd)
            .ok_or(Errno::STALE)
    }

    /// What is at a name now; none where that is nothing.
    pub(crate) fn key_at(&mut self, folder: u64, name: &CStr) -> Option<Key> {
        let found = self.fd(folder).and_then(|fd| look(fd, name)).and_then(stat);
        found.ok().map(|found| Key::of(&found))
    }

    /// What the guest was told of a name: what it leads to, or that nothing is there; none where it was told
    /// nothing.
    pub(crate) fn told_of(&self, folder: u64, name: &CStr) -> Option<Option<u64>> {
        self.all.get(&folder)?.children.get(name).copied()
    }

    /// Remembers what the guest was told of a name. Whether it could be remembered.
    pub(crate) fn name(&mut self, parent: u64, name: &CStr, leads_to: Option<u64>) -> bool {
        let full = self.absent >= ABSENT;
        let Ok(folder) = self.get_mut(parent) else {
            return false;
        };
        if leads_to.is_none() && full {
            let before = folder.children.remove(name);
            self.absent -= usize::from(before == Some(None));
            return false;
        }
        let before = match folder.children.get_mut(name) {
            Some(known) => Some(std::mem::replace(known, leads_to)),
            None => folder.children.insert(name.to_owned(), leads_to),
        };
        self.absent += usize::from(leads_to.is_none());
        self.absent -= usize::from(before == Some(None));
        true
    }

    /// Removes one of several names of a file. Its descriptor is opened again by another name when it is needed.
    pub(crate) fn unnamed(&mut self, id: u64, folder: u64, name: &CStr) {
        if let Some(node) = self.all.get_mut(&id)
            && node.names.len() > 1
        {
            node.names
                .retain(|(of, old)| (*of, &**old) != (folder, name));
            node.fd = None;
        }
    }

    /// A file has another name than before.
    pub(crate) fn moved(&mut self, id: u64, from: (u64, &CStr), to: (u64, &CStr)) {
        if let Some(node) = self.all.get_mut(&id) {
            node.names
                .retain(|(folder, name)| ![from, to].contains(&(*folder, &**name)));
            node.names.push((to.0, to.1.to_owned()));
        }
    }

    /// Forgets what the guest was told of a name.
    pub(crate) fn unname(&mut self, parent: u64, name: &CStr) {
        if let Ok(folder) = self.get_mut(parent) {
            let before = folder.children.remove(name);
            self.absent -= usize::from(before == Some(None));
        }
    }

    /// The guest has forgotten that it was told of a file so often. The number of the watch that nobody needs
    /// any more.
    pub(crate) fn forget(&mut self, id: u64, times: u64) -> Option<i32> {
        let node = self.all.get_mut(&id)?;
        node.looked = node.looked.saturating_sub(times);
        self.let_go(id)
    }

    /// Removes a file of which the guest knows nothing.
    pub(crate) fn let_go(&mut self, id: u64) -> Option<i32> {
        let node = self.all.get(&id)?;
        if id == ROOT || node.looked > 0 || !node.handles.is_empty() {
            return None;
        }
        let node = self.all.remove(&id)?;
        self.by_key.remove(&node.key);
        self.absent -= node
            .children
            .values()
            .filter(|leads| leads.is_none())
            .count();
        for (folder, name) in &node.names {
            if let Some(folder) = self.all.get_mut(folder)
                && folder.children.get(name) == Some(&Some(id))
            {
                folder.children.remove(name);
            }
        }
        node.watch
    }
}

#[cfg(test)]
#[path = "nodes_tests.rs"]
mod tests;
