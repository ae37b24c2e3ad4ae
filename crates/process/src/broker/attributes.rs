//! What belongs to a file and is not in it: its mode, its owner, its times, its extended attributes.
//! Landlock knows no right for any of it, and mounts keep only what was found at the start; so these calls come
//! here as well. Where there are no mounts they are done in folders that may be written, and nowhere else.

use super::act::{Context, Outcome, Refused};
use super::path::{Place, kind_of, shown};
use crate::git;
use crate::notify::Call;
use crate::seccomp::FCHMODAT2;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, Timestamps, Uid, XattrFlags, chmodat, chownat, fstat,
    removexattr, setxattr, utimensat,
};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::ffi::{CString, OsStr};
use std::path::{Path, PathBuf};

/// `XATTR_SIZE_MAX`, the longest value that the kernel takes; a list of names is at most as long.
pub(super) const VALUE: usize = 64 * 1024;
/// The attribute of a list of access (acl(5)).
pub(super) const ACCESS_LIST: &[u8] = b"system.posix_acl_access";
/// `struct timespec`, twice.
const TIMES: usize = 32;

/// How older calls give times.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
enum Unit {
    Seconds,
    Microseconds,
}

/// A file whose attributes may be changed.
pub(super) struct Subject {
    /// Keeps the file, and so the path.
    _file: OwnedFd,
    /// A path that leads to exactly this file.
    path: PathBuf,
    /// Its name in a folder of git's, and the rule that protects that.
    of_git: Option<(u32, PathBuf)>,
    /// The rule by which its owner keeps the rights to look through it, and its name: what protects other files lies
    /// in it, and the next run has to find that.
    searched: Option<(u32, PathBuf)>,
}

/// Does what a call about attributes asks for.
pub(super) fn perform(context: &Context<'_>, call: &Call) -> Result<Outcome, Refused> {
    let a = call.arguments;
    // The kernel looks at the low words of these arguments.
    let (fd, flags, word) = (
        |n: usize| a[n] as i32,
        |n: usize| a[n] as i32,
        |n: usize| a[n] as u32,
    );
    const HERE: i32 = libc::AT_FDCWD;
    const ITSELF: i32 = libc::AT_SYMLINK_NOFOLLOW;
    #[cfg(target_arch = "x86_64")]
    match call.number {
        libc::SYS_chmod => return context.subject(HERE, a[0], 0)?.set_mode(word(1)),
        libc::SYS_chown => return context.subject(HERE, a[0], 0)?.set_owner(word(1), word(2)),
        libc::SYS_utime => {
            return context.set_old_times(&context.subject(HERE, a[0], 0)?, a[1], Unit::Seconds);
        }
        libc::SYS_utimes => {
            return context.set_old_times(
                &context.subject(HERE, a[0], 0)?,
                a[1],
                Unit::Microseconds,
            );
        }
        libc::SYS_futimesat => {
            let subject = match a[1] {
                0 => context.subject_of(fd(0))?,
                path => context.subject(fd(0), path, 0)?,
            };
            return context.set_old_times(&subject, a[2], Unit::Microseconds);
        }
        libc::SYS_lchown => {
            return context
                .subject(HERE, a[0], ITSELF)?
                .set_owner(word(1), word(2));
        }
        _ => {}
    }
    match call.number {
        libc::SYS_fchmod => context.subject_of(fd(0))?.set_mode(word(1)),
        libc::SYS_fchmodat => context.subject(fd(0), a[1], 0)?.set_mode(word(2)),
        FCHMODAT2 => context.subject(fd(0), a[1], flags(3))?.set_mode(word(2)),
        libc::SYS_fchown => context.subject_of(fd(0))?.set_owner(word(1), word(2)),
        libc::SYS_fchownat => context
            .subject(fd(0), a[1], flags(4))?
            .set_owner(word(2), word(3)),
        libc::SYS_utimensat => {
            let subject = match a[1] {
                0 => context.subject_of(fd(0))?,
                path => context.subject(fd(0), path, flags(3))?,
            };
            context.set_times(&subject, a[2])
        }
        libc::SYS_setxattr => {
            context.set_attribute(&context.subject(HERE, a[0], 0)?, [a[1], a[2], a[3], a[4]])
        }
        libc::SYS_lsetxattr => context.set_attribute(
            &context.subject(HERE, a[0], ITSELF)?,
            [a[1], a[2], a[3], a[4]],
        ),
        libc::SYS_fsetxattr => {
            context.set_attribute(&context.subject_of(fd(0))?, [a[1], a[2], a[3], a[4]])
        }
        libc::SYS_removexattr => context.remove_attribute(&context.subject(HERE, a[0], 0)?, a[1]),
        libc::SYS_lremovexattr => {
            context.remove_attribute(&context.subject(HERE, a[0], ITSELF)?, a[1])
        }
        libc::SYS_fremovexattr => context.remove_attribute(&context.subject_of(fd(0))?, a[1]),
        _ => Err(Errno::NOSYS.into()),
    }
}

impl Context<'_> {
    /// The file that a path of the program's means.
    pub(super) fn subject(&self, folder: i32, path: u64, flags: i32) -> Result<Subject, Refused> {
        let known = libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH;
        if flags & !known != 0 {
            return Err(Errno::INVAL.into());
        }
        let path = self.tracee.text(path)?;
        if path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
            return self.subject_of(folder);
        }
        let follow = flags & libc::AT_SYMLINK_NOFOLLOW == 0;
        match self.place_of(folder, &path, follow)? {
            Place::Object(file) => self.may_change(file),
            Place::Entry { found, slash, .. } => {
                let file = found.ok_or(Errno::NOENT)?;
                if slash && kind_of(&file)? != FileType::Directory {
                    return Err(Errno::NOTDIR.into());
                }
                self.may_change(file)
            }
        }
    }

    /// The file that a descriptor of the program's is of.
    pub(super) fn subject_of(&self, descriptor: i32) -> Result<Subject, Refused> {
        if descriptor < 0 && descriptor != libc::AT_FDCWD {
            return Err(Errno::BADF.into());
        }
        let file = self.tracee.folder(descriptor)?;
        self.must_be_waiting()?;
        self.may_change(file)
    }

    fn may_change(&self, mut file: OwnedFd) -> Result<Subject, Refused> {
        let absolute = shown(file.as_fd())?;
        // What has no name on any disk (a pipe, a file in memory) is the program's own.
        let own = !absolute.is_absolute() || fstat(&file)?.st_nlink == 0;
        if !own {
            self.decide_existing(&absolute, kind_of(&file)?)?;
            self.decide_names(&absolute, &file)?;
            if !self.rules.may_change(&absolute) {
                return Err(Errno::ACCESS.into());
            }
            // A device of the machine's is everybody's, and its mount shows the host's own file.
            let kind = kind_of(&file)?;
            let device = matches!(kind, FileType::CharacterDevice | FileType::BlockDevice);
            if device && !absolute.starts_with("/dev/pts") {
                return Err(Errno::PERM.into());
            }
            file = self.separate_named(&absolute, file)?;
        }
        let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
        let rule = self
            .rules
            .git(&absolute)
            .filter(|_| !own && git::below_git(&absolute).is_some());
        let of_git = rule.map(|rule| (rule, absolute.clone()));
        let searched = match own {
            true => None,
            false => self.searched(&absolute, kind_of(&file)?),
        };
        Ok(Subject {
            _file: file,
            path,
            searched: of_git.clone().or(searched.map(|rule| (rule, absolute))),
            of_git,
        })
    }

    /// The rule for whose sake the next run has to look through a folder.
    fn searched(&self, path: &Path, kind: FileType) -> Option<u32> {
        if kind != FileType::Directory {
            return None;
        }
        let led = || {
            self.rules
                .git(path)
                .filter(|_| self.rules.is_led_through(path))
        };
        let calls = || self.rules.git(path).filter(|_| holds_commands(path));
        self.rules.holds_alias(path).or_else(led).or_else(calls)
    }

    /// Whether a file that is there may be changed in anything but what it says. Git's own files may, and so
    /// may the samples of hooks.
    fn decide_existing(&self, path: &Path, kind: FileType) -> Result<(), Refused> {
        self.decide_there(path, kind == FileType::Directory)?;
        match self.rules.git(path).filter(|_| git::is_hook(path)) {
            Some(rule) => Err(Refused::by(rule, path, "git would run it")),
            None => Ok(()),
        }
    }

    /// Gives a file an extended attribute.
    pub(super) fn set_attribute(
        &self,
        subject: &Subject,
        [name, value, length, flags]: [u64; 4],
    ) -> Result<Outcome, Refused> {
        let length = usize::try_from(length).map_err(|_| Errno::TOOBIG)?;
        if length > VALUE {
            return Err(Errno::TOOBIG.into());
        }
        let mut bytes = vec![0; length];
        self.read_all(value, &mut bytes)?;
        let flags = XattrFlags::from_bits(flags as u32).ok_or(Errno::INVAL)?;
        let name = self.name(name)?;
        // It has the rights of the owner as well.
        if name.as_bytes() == ACCESS_LIST {
            subject.must_stay_searched(owners_mode(&bytes))?;
        }
        setxattr(&subject.path, &name, &bytes, flags)?;
        Ok(Outcome::Done)
    }

    /// Takes an extended attribute away.
    pub(super) fn remove_attribute(
        &self,
        subject: &Subject,
        name: u64,
    ) -> Result<Outcome, Refused> {
        removexattr(&subject.path, &self.name(name)?)?;
        Ok(Outcome::Done)
    }

    fn name(&self, address: u64) -> Result<CString, Errno> {
        let name = self.tracee.text(address)?;
        CString::new(OsStr::as_encoded_bytes(&name)).map_err(|_| Errno::INVAL)
    }

    /// Sets a file's times, to now where the program names none.
    pub(super) fn set_times(&self, subject: &Subject, times: u64) -> Result<Outcome, Refused> {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_NOW,
        };
        let mut both = [now; 2];
        if times != 0 {
            let mut bytes = [0; TIMES];
            self.read_all(times, &mut bytes)?;
            let (words, _) = bytes.as_chunks::<8>();
            for (time, pair) in both.iter_mut().zip(words.chunks(2)) {
                time.tv_sec = i64::from_ne_bytes(pair[0]);
                time.tv_nsec = i64::from_ne_bytes(pair[1]);
            }
        }
        let [last_access, last_modification] = both;
        let times = Timestamps {
            last_access,
            last_modification,
        };
        utimensat(CWD, &subject.path, &times, AtFlags::empty())?;
        Ok(Outcome::Done)
    }

    /// Sets a file's times as older calls give them: each in seconds, alone or with microseconds.
    #[cfg(target_arch = "x86_64")]
    fn set_old_times(&self, subject: &Subject, times: u64, unit: Unit) -> Result<Outcome, Refused> {
        if times == 0 {
            return self.set_times(subject, 0);
        }
        let mut bytes = [0; TIMES];
        let (length, step) = match unit {
            Unit::Seconds => (TIMES / 2, 1),
            Unit::Microseconds => (TIMES, 2),
        };
        self.read_all(times, &mut bytes[..length])?;
        let (words, _) = bytes.as_chunks::<8>();
        let time = |at: usize| -> Result<Timespec, Errno> {
            let microseconds = match unit {
                Unit::Seconds => 0,
                Unit::Microseconds => i64::from_ne_bytes(words[at * step + 1]),
            };
            match microseconds {
                0..1_000_000 => Ok(Timespec {
                    tv_sec: i64::from_ne_bytes(words[at * step]),
                    tv_nsec: microseconds * 1000,
                }),
                _ => Err(Errno::INVAL),
            }
        };
        let times = Timestamps {
            last_access: time(0)?,
            last_modification: time(1)?,
        };
        utimensat(CWD, &subject.path, &times, AtFlags::empty())?;
        Ok(Outcome::Done)
    }

    /// Reads exactly these bytes of the program's memory.
    fn read_all(&self, address: u64, into: &mut [u8]) -> Result<(), Errno> {
        let mut done = 0;
        while done < into.len() {
            let at = address.wrapping_add(done as u64);
            match self.tracee.memory(at, &mut into[done..]) {
                Ok(0) | Err(_) => return Err(Errno::FAULT),
                Ok(read) => done += read,
            }
        }
        Ok(())
    }
}

/// Whether a folder holds a file of commands that a program of the host runs. Of what it calls the next run protects what
/// it can read.
fn holds_commands(folder: &Path) -> bool {
    let dotted = |name: &OsStr| name != ".git" && name.as_encoded_bytes().starts_with(b".");
    let entries = || std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_one = |entry: std::fs::DirEntry| git::folder_of_commands(&entry.path()).is_some();
    folder.file_name().is_some_and(dotted) && entries().any(is_one)
}

/// The rights of the owner that a list of access gives, as a mode; none where it cannot be understood. Behind its version
/// there are entries of a tag, rights and an id (`struct posix_acl_xattr_entry`).
fn owners_mode(list: &[u8]) -> u32 {
    const OWNER: [u8; 2] = [1, 0];
    let (entries, _) = list.get(4..).unwrap_or_default().as_chunks::<8>();
    let owner = entries.iter().find(|entry| entry[..2] == OWNER);
    owner.map_or(0, |entry| u32::from(entry[2]) << 6)
}

impl Subject {
    /// Sets the mode. The filter has refused those with set-user-id or set-group-id.
    pub(super) fn set_mode(&self, mode: u32) -> Result<Outcome, Refused> {
        const BY_ALL: u32 = 0o002;
        if let Some((rule, path)) = &self.of_git
            && mode & BY_ALL != 0
        {
            return Err(Refused::by(
                *rule,
                path,
                "every user of the machine could write it",
            ));
        }
        self.must_stay_searched(mode)?;
        let mode = Mode::from_raw_mode(mode & 0o7777);
        chmodat(CWD, &self.path, mode, AtFlags::empty())?;
        Ok(Outcome::Done)
    }

    /// Whether a mode leaves its owner the rights that the next run needs to find what protects other files.
    fn must_stay_searched(&self, mode: u32) -> Result<(), Refused> {
        let needed = match self.path.is_dir() {
            true => 0o500,
            false => 0o400,
        };
        match &self.searched {
            Some((rule, path)) if mode & needed != needed => Err(Refused::by(
                *rule,
                path,
                "the next run could not find what it protects because of this",
            )),
            _ => Ok(()),
        }
    }

    /// Sets owner and group; `u32::MAX` leaves one as it is.
    pub(super) fn set_owner(&self, uid: u32, gid: u32) -> Result<Outcome, Refused> {
        let uid = (uid != u32::MAX).then(|| Uid::from_raw(uid));
        let gid = (gid != u32::MAX).then(|| Gid::from_raw(gid));
        chownat(CWD, &self.path, uid, gid, AtFlags::empty())?;
        Ok(Outcome::Done)
    }
}
