//! Files with several names. Nobody knows where the other names of one are that was there before: package managers
//! link what they install to a store of theirs, and a local clone of git's has its objects from the repository that it
//! was made of. What is written by one name would change all of them, also where the sandbox sees none; so the name in
//! the sandbox gets a copy of its own first.

use super::act::{Context, Refused};
use super::attributes;
use super::path::shown;
use super::rename::{read, replace};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, Stat, StatxFlags, Timespec, Timestamps,
    XattrFlags, accessat, fstat, getxattr, listxattr, openat, setxattr, statat, statx, utimensat,
};
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file is copied that has at most so many bytes; a program can copy a larger one itself.
const LARGEST: usize = 64 << 20;

/// So many names are known; of more, what they are names of is copied as if nobody knew them.
const NAMES: usize = 100_000;

/// A file: its device and number, and when it was made, because a number is given to another file as soon as the first
/// is gone.
type Identity = (u64, u64, (i64, u32));

/// Files that had one name until a program of the run gave them another, with all their names.
#[derive(Debug, Default)]
pub(super) struct Linked(RefCell<Known>);

#[derive(Debug, Default)]
struct Known {
    files: BTreeMap<Identity, Vec<PathBuf>>,
    /// How many names these are.
    names: usize,
}

impl Linked {
    /// Notes a file that has got a name more; `names` were its names before.
    pub(super) fn add(&self, file: &OwnedFd, names: u64, name: &Path, new: &Path) {
        let Some(id) = identity(file) else {
            return;
        };
        let mut known = self.0.borrow_mut();
        if known.names >= NAMES {
            *known = Known::default();
        }
        if names <= 1 {
            let old = known.files.insert(id, vec![name.to_path_buf()]);
            known.names += 1;
            known.names -= old.map_or(0, |old| old.len());
        }
        if let Some(names) = known.files.get_mut(&id) {
            names.push(new.to_path_buf());
            known.names += 1;
        }
    }

    /// Whether a file that is known by a path has names besides which nobody in the run has given it.
    fn has_others(&self, path: &Path, file: &OwnedFd) -> Result<bool, Errno> {
        let stat = fstat(file)?;
        let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        // The name by which a descriptor was opened may be gone: the one that is left is another then.
        let alone = stat.st_nlink == 1 && !is_gone(path);
        if !plain || stat.st_nlink == 0 || alone {
            return Ok(false);
        }
        let all = self.0.borrow();
        let names = identity(file).and_then(|id| all.files.get(&id));
        let names = names.into_iter().flatten().map(PathBuf::as_path);
        let paths: BTreeSet<&Path> = names.chain([path]).collect();
        // Several paths may be of one name.
        let mut folders: BTreeMap<_, BTreeSet<Vec<u8>>> = BTreeMap::new();
        for (folder, name) in paths.into_iter().filter_map(|path| entry_of(path, &stat)) {
            let Ok(folder) = fstat(&folder) else {
                continue;
            };
            let folder = (folder.st_dev, folder.st_ino);
            // To some file systems names are one whose letters differ in case, or that are written in two ways.
            let name = name.as_bytes().to_ascii_lowercase();
            folders.entry(folder).or_default().insert(name);
        }
        let count = folders.values().map(|names| {
            let plain = names.iter().all(|name| name.is_ascii());
            if plain { names.len() } else { 1 }
        });
        Ok(stat.st_nlink > count.sum::<usize>() as u64)
    }
}

/// Whether the kernel says of a path, as it shows that of a descriptor, that it leads to the file no more (proc(5)). A
/// file can have such a name, too.
fn is_gone(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b" (deleted)")
}

/// Which file it is; none where its file system does not say when it was made.
fn identity(file: &OwnedFd) -> Option<Identity> {
    let asked = StatxFlags::INO | StatxFlags::BTIME;
    let said = statx(file, c"", AtFlags::EMPTY_PATH, asked).ok()?;
    let known = said.stx_mask & asked.bits() == asked.bits();
    let device = rustix::fs::makedev(said.stx_dev_major, said.stx_dev_minor);
    let made = (said.stx_btime.tv_sec, said.stx_btime.tv_nsec);
    known.then_some((device, said.stx_ino, made))
}

/// The entry of a folder that a path means, where the file has that name: the folder, and the name there. A path that
/// leads through a link means none.
pub(super) fn entry_of<'a>(path: &'a Path, file: &Stat) -> Option<(OwnedFd, &'a OsStr)> {
    let (parent, name) = (path.parent()?, path.file_name()?);
    let folder = folder_without_links(parent).ok()??;
    let there = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let same = (there.st_dev, there.st_ino) == (file.st_dev, file.st_ino);
    same.then_some((folder, name))
}

/// The folder at a path; none where the path leads through a link.
fn folder_without_links(path: &Path) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(CWD, path, flags, Mode::empty())?;
    Ok((shown(folder.as_fd())? == path).then_some(folder))
}

impl Context<'_> {
    /// Whether a file in a folder of the host's has names that may lie anywhere.
    fn is_shared(&self, path: &Path, file: &OwnedFd) -> Result<bool, Errno> {
        Ok(self.rules.is_kept(path) && self.linked.has_others(path, file)?)
    }

    /// The file that is written instead of one with names that may lie anywhere; none where it has no others.
    /// `empties` says that nothing of what it says is kept.
    pub(super) fn separate(
        &self,
        (folder, name): (&OwnedFd, &OsStr),
        path: &Path,
        found: &OwnedFd,
        empties: bool,
    ) -> Result<Option<OwnedFd>, Refused> {
        if !self.is_shared(path, found)? {
            return Ok(None);
        }
        let stat = fstat(found)?;
        let text = match empties {
            true => Vec::new(),
            false => match read(found, LARGEST)? {
                Some((text, _)) => text,
                None => return Err(self.shares(path)),
            },
        };
        let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
        replace(folder, name, &text, mode).map_err(|_| self.shares(path))?;
        let time = |tv_sec, tv_nsec: u64| Timespec {
            tv_sec,
            tv_nsec: tv_nsec.cast_signed(),
        };
        let times = Timestamps {
            last_access: time(stat.st_atime, stat.st_atime_nsec),
            last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
        };
        utimensat(folder, name, &times, AtFlags::SYMLINK_NOFOLLOW)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let copy = openat(folder, name, flags, Mode::empty())?;
        copy_attributes(found, &copy).map_err(|_| self.shares(path))?;
        Ok(Some(copy))
    }

    /// The same of a file that is known by a descriptor.
    pub(super) fn separate_named(&self, path: &Path, file: OwnedFd) -> Result<OwnedFd, Refused> {
        let stat = fstat(&file)?;
        let owned = stat.st_uid == rustix::process::geteuid().as_raw();
        if !self.is_shared(path, &file)? || !owned && !may_write(&file) {
            return Ok(file);
        }
        let Some((folder, name)) = entry_of(path, &stat) else {
            return Err(self.shares(path));
        };
        let copy = self.separate((&folder, name), path, &file, false)?;
        Ok(copy.unwrap_or(file))
    }

    /// Refuses to write a file that cannot be copied by its name.
    pub(super) fn must_not_be_shared(&self, path: &Path, file: &OwnedFd) -> Result<(), Refused> {
        match self.is_shared(path, file)? {
            true => Err(self.shares(path)),
            false => Ok(()),
        }
    }

    fn shares(&self, path: &Path) -> Refused {
        let reason =
            "the file has another name, maybe outside: copy it, and put the copy in its place";
        Refused::by(self.rules.git(path).unwrap_or_default(), path, reason)
    }
}

/// Gives a copy the extended attributes of a file, and its access list, as far as they are the user's to set.
fn copy_attributes(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    let at = |file: &OwnedFd| format!("/proc/self/fd/{}", file.as_raw_fd());
    let (from, to) = (at(from), at(to));
    let mut names = vec![0; attributes::VALUE];
    let length = match listxattr(&from, &mut names) {
        Err(Errno::NOTSUP) => return Ok(()),
        length => length?,
    };
    let mut value = vec![0; attributes::VALUE];
    for name in names[..length].split_inclusive(|byte| *byte == 0) {
        let name = CStr::from_bytes_with_nul(name).map_err(|_| Errno::INVAL)?;
        let text = name.to_bytes();
        if text.starts_with(b"user.") || text == attributes::ACCESS_LIST {
            let length = getxattr(&from, name, &mut value)?;
            setxattr(&to, name, &value[..length], XattrFlags::empty())?;
        }
    }
    Ok(())
}

/// Whether this process may write a file; where it may not, the kernel tells its program.
pub(super) fn may_write(file: &OwnedFd) -> bool {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    accessat(CWD, link, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Whether a file has others that was linked to these names by these paths.
    fn has_others(links: &[(&str, &str)]) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let linked = Linked::default();
        fs::create_dir(top.join("d")).unwrap();
        fs::create_dir(top.join("e")).unwrap();
        symlink("d", top.join("l")).unwrap();
        fs::write(top.join("d/f"), "").unwrap();
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let file = openat(CWD, top.join("d/f"), flags, Mode::empty()).unwrap();
        for (name, said) in links {
            let before = fstat(&file).unwrap().st_nlink;
            fs::hard_link(top.join("d/f"), top.join(name)).unwrap();
            linked.add(&file, before, &top.join("d/f"), &top.join(said));
        }
        linked.has_others(&top.join("d/f"), &file).unwrap()
    }

    #[test]
    fn a_name_is_counted_once() {
        let known: [&[(&str, &str)]; 4] = [
            &[],
            &[("d/g", "d/g")],
            &[("d/g", "d/g"), ("e/f", "e/f")],
            &[("d/\u{e9}", "d/\u{e9}"), ("e/f", "e/f"), ("e/g", "e/g")],
        ];
        assert_eq!(known.map(has_others), [false, false, false, true]);
        for links in [
            // A path that leads through a link, names that could be one, and one that nobody told.
            [("d/g", "l/g"), ("e/f", "e/f")],
            [("d/F", "d/F"), ("e/f", "e/f")],
            [("d/g", "d/g"), ("e/f", "e/none")],
        ] {
            assert!(has_others(&links), "{links:?}");
        }
    }
}
