//! Opens files for a program that may create or write them.

use super::act::{CONFIGURATION, Context, Gate, Outcome, Refused};
use super::deferred::{Deferred, Wanted};
use super::linked::may_write;
use super::locks::{Lock, is_lock};
use super::path::{Place, is_own, is_proc, kind_of, shown};
use super::rename::read;
use super::watched::Watched;
use crate::git::{self, Content, InPlace};
use crate::kernel::ACCESS;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    CWD, FileType, Mode, OFlags, fcntl_setfl, fstat, ftruncate, major, minor, openat,
};
use rustix::io::Errno;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Files of a program's own folder of /proc that it may write, all of which the kernel checks
/// again when they are written.
const OWN_FILES: [&str; 7] = [
    // Its own memory is its own.
    "mem",
    "comm",
    "oom_score_adj",
    "oom_adj",
    "coredump_filter",
    "timerslack_ns",
    "clear_refs",
];
/// Files of every process that anybody may read.
const PUBLIC_FILES: [&str; 5] = ["stat", "status", "statm", "cmdline", "comm"];
/// Files of /proc that belong to no process, and tell of the keys that the user has in the kernel.
const KEYS: [&str; 2] = ["keys", "key-users"];
/// Why a file that git obeys is not cut off where it is: git never does that.
const CUT_OFF: &str = "git obeys what it says: write it anew as a whole, and it is looked at";
/// Flags that mean something with `O_PATH` (open(2)).
const WITH_PATH: i32 = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

/// An open that is ready to be done, and that may have to wait.
#[derive(Debug)]
struct Open {
    folder: OwnedFd,
    name: OsString,
    flags: OFlags,
    mode: Mode,
    wanted: i32,
}

pub(super) fn open(
    context: &Context<'_>,
    folder: i32,
    path: u64,
    flags: i32,
    mode: u32,
) -> Result<Outcome, Refused> {
    let mut wanted = match flags & libc::O_PATH {
        0 => flags,
        _ => flags & WITH_PATH,
    };
    let path = context.tracee.text(path)?;
    const TMPFILE: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;
    let new_only = wanted & libc::O_CREAT != 0 && wanted & libc::O_EXCL != 0;
    let unnamed = wanted & TMPFILE != 0;
    let follow = unnamed || (wanted & libc::O_NOFOLLOW == 0 && !new_only);
    let place = context.place_of(folder, &path, follow)?;
    let mut writes = wanted & (ACCESS | libc::O_TRUNC) != 0;
    let mode = Mode::from_raw_mode(mode & 0o7777);
    let open = match place {
        Place::Entry {
            folder,
            name,
            mut found,
            slash,
        } => {
            if let Some(found) = &found
                && unnamed
            {
                // A file without a name needs no decision before it gets one.
                context.take_umask()?;
                let folder = found.try_clone().map_err(|_| Errno::MFILE)?;
                return Open::new(folder, ".".into(), wanted, mode).attempt();
            }
            if found.is_none() && wanted & libc::O_CREAT == 0 {
                return Err(Errno::NOENT.into());
            }
            if slash && wanted & libc::O_CREAT != 0 {
                return Err(Errno::ISDIR.into());
            }
            let absolute = shown(folder.as_fd())?.join(&name);
            let empties = new_only || wanted & libc::O_TRUNC != 0;
            if writes && !empties && context.rules.is_template(&absolute) {
                wanted &= !(ACCESS | libc::O_CREAT);
                writes = false;
            }
            if writes || found.is_none() {
                context.decide_opened(&absolute, found.is_some())?;
                context.note(&absolute);
                if let Some(there) = &found {
                    if kind_of(there)? == FileType::Directory {
                        return Err(Errno::ISDIR.into());
                    }
                    context.decide_names(&absolute, there)?;
                    if !new_only && may_write(there) {
                        let at = (&folder, name.as_os_str());
                        let copy = context.separate(at, &absolute, there, empties)?;
                        found = copy.or(found);
                    }
                }
                if let Gate::Obeyed(content, rule) = context.gate(&absolute)? {
                    let at = Obeyed {
                        folder,
                        name,
                        path: absolute,
                        content,
                        rule,
                    };
                    return at.open(context, found.as_ref(), wanted, mode);
                }
            }
            if let Some(found) = &found
                && slash
                && kind_of(found)? != FileType::Directory
            {
                return Err(Errno::NOTDIR.into());
            }
            if !writes {
                context.decide_read(&absolute)?;
            }
            if let Some(found) = &found {
                if let Some(terminal) = terminal(context, found.as_fd())? {
                    return Open::new(folder_of("/dev/pts")?, terminal, wanted, mode).attempt();
                }
                allow_proc(context, found.as_fd(), writes, &absolute)?;
            }
            if found.is_none() {
                context.take_umask()?;
                if is_lock(&name) && git::is_of_git(&absolute) {
                    return locked(context, (folder, name), absolute, wanted, mode);
                }
            }
            Open::new(folder, name, wanted | libc::O_NOFOLLOW, mode)
        }
        Place::Object(object) => {
            if new_only {
                return Err(Errno::EXIST.into());
            }
            let absolute = shown(object.as_fd())?;
            if absolute.is_absolute() {
                match writes {
                    true => {
                        context.decide(&absolute)?;
                        context.decide_names(&absolute, &object)?;
                        context.must_not_be_shared(&absolute, &object)?;
                        context.note(&absolute);
                        if let Gate::Obeyed(_, rule) = context.gate(&absolute)? {
                            return Err(Refused::by(rule, &absolute, CUT_OFF));
                        }
                    }
                    false => context.decide_read(&absolute)?,
                }
            }
            allow_proc(context, object.as_fd(), writes, &absolute)?;
            return reopen(context, object, wanted, mode);
        }
    };
    open.attempt()
}

/// A file that git obeys, which a program wants to write where it is.
struct Obeyed {
    folder: OwnedFd,
    name: OsString,
    path: PathBuf,
    content: Content,
    rule: u32,
}

impl Obeyed {
    fn open(
        self,
        context: &Context<'_>,
        found: Option<&OwnedFd>,
        wanted: i32,
        mode: Mode,
    ) -> Result<Outcome, Refused> {
        if found.is_some() && wanted & libc::O_CREAT != 0 && wanted & libc::O_EXCL != 0 {
            return Err(Errno::EXIST.into());
        }
        match self.content.in_place() {
            InPlace::Watched => self.watched(context, found, wanted, mode),
            InPlace::Later => self.later(context, found, wanted, mode),
        }
    }

    /// What the program writes is looked at when it has written it.
    fn watched(
        self,
        context: &Context<'_>,
        found: Option<&OwnedFd>,
        wanted: i32,
        mode: Mode,
    ) -> Result<Outcome, Refused> {
        let before = Watched::before(found, self.content)?;
        if found.is_none() {
            context.take_umask()?;
        }
        let again = self.folder.try_clone().map_err(|_| Errno::MFILE)?;
        let open = Open::new(again, self.name.clone(), wanted | libc::O_NOFOLLOW, mode);
        match open.attempt()? {
            Outcome::Opened(file, close_on_exec) => {
                let at = (self.folder, self.name);
                let watched = Watched::new(at, self.path, self.content, self.rule, before, &file)?;
                Ok(Outcome::Watched(Box::new(watched), file, close_on_exec))
            }
            other => Ok(other),
        }
    }

    /// The file gets its name, or says something else, when it is known what that is.
    fn later(
        self,
        context: &Context<'_>,
        found: Option<&OwnedFd>,
        wanted: i32,
        mode: Mode,
    ) -> Result<Outcome, Refused> {
        let Self {
            folder,
            name,
            path,
            content,
            rule,
        } = self;
        // What is there is changed as a whole, and a configuration by whoever takes its lock.
        let in_part =
            content.is_configuration() || wanted & libc::O_TRUNC == 0 && content == Content::Index;
        if found.is_some() && in_part {
            return Err(Refused::by(rule, &path, CONFIGURATION));
        }
        let mode = match found {
            // What is there keeps its own.
            Some(found) => Mode::from_raw_mode(fstat(found)?.st_mode),
            None => mode & !context.tracee.status()?.umask,
        };
        let old = match found {
            Some(found) if content.is_compared() => read(found, content.limit())?,
            _ => None,
        };
        let (file, given) = Deferred::new(Wanted {
            folder,
            name,
            path,
            mode: mode & Mode::from_raw_mode(0o777),
            content,
            rule,
            old: old.map(|(text, _)| text).unwrap_or_default(),
            process: context.tracee.status()?.process,
        })?;
        let close = wanted & libc::O_CLOEXEC != 0;
        Ok(Outcome::Deferred(Box::new(file), given, close))
    }
}

/// Makes a lock of git's.
fn locked(
    context: &Context<'_>,
    (folder, name): (OwnedFd, OsString),
    path: PathBuf,
    wanted: i32,
    mode: Mode,
) -> Result<Outcome, Refused> {
    let again = folder.try_clone().map_err(|_| Errno::MFILE)?;
    let open = Open::new(again, name.clone(), wanted | libc::O_NOFOLLOW, mode);
    match open.attempt()? {
        Outcome::Opened(file, close_on_exec) => {
            let process = context.tracee.status()?.process;
            let lock = Lock::new((folder, name), path, &file, process)?;
            Ok(Outcome::Locked(lock, file, close_on_exec))
        }
        other => Ok(other),
    }
}

/// Opens again what a descriptor is of: no plain file, or one that has no name here, or several.
fn reopen(
    context: &Context<'_>,
    object: OwnedFd,
    wanted: i32,
    mode: Mode,
) -> Result<Outcome, Refused> {
    // Only a file without a name is made here.
    if !mode.is_empty() {
        context.take_umask()?;
    }
    let link = object.as_raw_fd().to_string();
    let wanted = wanted & !(libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW);
    let open = Open::new(folder_of("/proc/self/fd")?, link.into(), wanted, mode);
    let outcome = open.attempt();
    drop(object);
    match outcome {
        // The link would be another object's by then.
        Ok(Outcome::Waits) => Err(Errno::NXIO.into()),
        other => other,
    }
}

fn folder_of(path: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}

/// `/dev/tty` means the terminal of whoever opens it: here the program's, not the broker's. The
/// name of the terminal's device in `/dev/pts`.
fn terminal(context: &Context<'_>, found: BorrowedFd<'_>) -> Result<Option<OsString>, Errno> {
    let stat = fstat(found)?;
    let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    if !is_device || (major(stat.st_rdev), minor(stat.st_rdev)) != (5, 0) {
        return Ok(None);
    }
    let number = context.tracee.terminal().ok_or(Errno::NXIO)?;
    // The encoding of /proc/PID/stat: proc_pid_stat(5).
    let (major, minor) = (
        (number >> 8) & 0xfff,
        (number & 0xff) | ((number >> 12) & 0xf_ff00),
    );
    match major {
        136..=143 => Ok(Some(((major - 136) * 256 + minor).to_string().into())),
        _ => Err(Errno::NXIO),
    }
}

/// The broker is not its program: what it could write in /proc, the program often could not.
fn allow_proc(
    context: &Context<'_>,
    file: BorrowedFd<'_>,
    writes: bool,
    path: &Path,
) -> Result<(), Errno> {
    if !is_proc(file)? {
        return Ok(());
    }
    let below = path.strip_prefix("/proc").ok();
    let own = match below {
        Some(below) => is_own(below, context.tracee.status()?),
        None => false,
    };
    let is_one_of = |names: &[&str]| {
        (path.file_name()).is_some_and(|name| names.iter().any(|one| name == *one))
    };
    // What belongs to no process is the same for everybody, but for keys.
    let shared = below.is_some_and(|below| {
        let first = below.components().next();
        first.is_some_and(|first| !is_number(first.as_os_str()))
            && !KEYS.iter().any(|keys| below == Path::new(keys))
    });
    // Root, who stays root where there are no namespaces, is nobody special.
    let for_all = shared && fstat(file)?.st_mode & 0o004 != 0;
    match writes {
        true if own && is_one_of(&OWN_FILES) => Ok(()),
        false if own || for_all || is_one_of(&PUBLIC_FILES) => Ok(()),
        _ => Err(Errno::ACCESS),
    }
}

fn is_number(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
}

impl Open {
    fn new(folder: OwnedFd, name: OsString, wanted: i32, mode: Mode) -> Self {
        let mut flags = OFlags::from_bits_retain(wanted.cast_unsigned());
        // The broker must neither wait nor get a terminal, and what it opens is not inherited.
        if wanted & libc::O_PATH == 0 {
            flags |= OFlags::NONBLOCK | OFlags::NOCTTY;
        }
        Self {
            folder,
            name,
            flags: flags | OFlags::CLOEXEC,
            mode,
            wanted,
        }
    }

    /// Tries it.
    fn attempt(self) -> Result<Outcome, Refused> {
        let waits = self.wanted & libc::O_NONBLOCK == 0;
        match openat(&self.folder, &self.name, self.flags, self.mode) {
            Ok(file) => {
                if waits && self.wanted & libc::O_PATH == 0 {
                    // What else the kernel takes here was asked for as it is.
                    fcntl_setfl(&file, self.flags & !OFlags::NONBLOCK)?;
                }
                Ok(Outcome::Opened(file, self.wanted & libc::O_CLOEXEC != 0))
            }
            // A pipe that nobody reads yet, or a file that another program has leased.
            Err(Errno::NXIO) if waits && self.is_pipe() => Ok(Outcome::Waits),
            Err(Errno::AGAIN) if waits => Ok(Outcome::Waits),
            Err(errno) => Err(errno.into()),
        }
    }

    fn is_pipe(&self) -> bool {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.folder, &self.name, flags, Mode::empty())
            .and_then(kind_of)
            .is_ok_and(|kind| kind == FileType::Fifo)
    }
}

pub(super) fn truncate(context: &Context<'_>, path: u64, length: u64) -> Result<Outcome, Refused> {
    let (mut object, absolute): (OwnedFd, PathBuf) =
        match context.place((libc::AT_FDCWD, path), true)? {
            Place::Object(object) => {
                let absolute = shown(object.as_fd())?;
                (object, absolute)
            }
            Place::Entry {
                folder,
                name,
                found,
                ..
            } => (
                found.ok_or(Errno::NOENT)?,
                shown(folder.as_fd())?.join(name),
            ),
        };
    if length.cast_signed() < 0 {
        return Err(Errno::INVAL.into());
    }
    if absolute.is_absolute() {
        context.decide(&absolute)?;
        context.decide_names(&absolute, &object)?;
        if let Gate::Obeyed(_, rule) = context.gate(&absolute)? {
            return Err(Refused::by(rule, &absolute, CUT_OFF));
        }
        object = context.separate_named(&absolute, object)?;
        context.note(&absolute);
    }
    allow_proc(context, object.as_fd(), true, &absolute)?;
    let link = format!("/proc/self/fd/{}", object.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(CWD, link, flags, Mode::empty())?;
    ftruncate(file, length)?;
    Ok(Outcome::Done)
}
