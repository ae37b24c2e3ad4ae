//! Reads a call, decides it by the names that it is about, and does it.

use super::attributes;
use super::deferred::Deferred;
use super::linked::Linked;
use super::locks::Lock;
use super::open;
use super::order::Order;
use super::path::{Place, resolve, shown};
use super::rename::{self, Renewed};
use super::rules::{Left, Rules, Unknown, Verdict};
use super::tracee::Tracee;
use super::watched::Watched;
use super::withheld::Withheld;
use crate::git::{self, Content, Meaning, Site};
use crate::notify::Call;
use bailiwick_event::Text;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, fstat, mkdirat, mknodat, unlinkat};
use rustix::io::Errno;
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What an act came to.
#[derive(Debug)]
pub(super) enum Outcome {
    Done,
    /// A file for the program, and whether its descriptor is closed at exec.
    Opened(OwnedFd, bool),
    /// A new lock of git's, and whether its descriptor is closed at exec.
    Locked(Lock, OwnedFd, bool),
    /// A file that is made when its content is known, what the program writes to, and whether
    /// that is closed at exec.
    Deferred(Box<Deferred>, OwnedFd, bool),
    /// A file for the program that is looked at when it is written, and whether its descriptor is closed at exec.
    Watched(Box<Watched>, OwnedFd, bool),
    /// It has to wait for another program, and is decided and tried again.
    Waits,
}

/// Why an act was not done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The kernel's reason, or one that it would give.
    Errno(Errno),
    /// A rule of the policy, by its number.
    Rule {
        rule: u32,
        path: PathBuf,
        reason: Option<String>,
    },
    /// Not yet: the rules do not know what git's configuration there leads to.
    Unknown(Box<Unknown>),
}

impl Refused {
    /// Refused by a rule, for this reason.
    pub(super) fn by(rule: u32, path: &Path, reason: impl Into<String>) -> Self {
        Self::Rule {
            rule,
            path: path.to_path_buf(),
            reason: Some(reason.into()),
        }
    }

    /// The same, for this reason.
    pub(super) fn because(self, reason: String) -> Self {
        match self {
            Self::Rule { rule, path, .. } => Self::by(rule, &path, reason),
            other => other,
        }
    }
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// A call, once its arguments were read.
pub(super) struct Context<'a> {
    pub(super) rules: &'a Rules,
    /// What git was told that it had checked out.
    pub(super) withheld: &'a Withheld,
    /// Files to which programs have given more names.
    pub(super) linked: &'a Linked,
    /// Files that the act makes or changes at names that are reported.
    pub(super) left: &'a RefCell<Vec<Left>>,
    /// Files of which the act has put copies in their place.
    pub(super) renewed: &'a RefCell<Vec<Renewed>>,
    /// The other sandboxes of this host.
    pub(super) order: &'a Order,
    pub(super) tracee: &'a Tracee,
    is_waiting: &'a dyn Fn() -> bool,
}

/// Why a file of git is not written directly.
pub(super) const CONFIGURATION: &str = "git's own files are changed with git";

/// How a name may be created or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// As the program asks for it.
    Free,
    /// Where what it says is what git may obey; the rule that says so.
    Obeyed(Content, u32),
}

/// A name that does not exist yet.
pub(super) struct Free {
    pub(super) folder: OwnedFd,
    pub(super) name: OsString,
    pub(super) path: PathBuf,
    pub(super) slash: bool,
}

/// By what acts are decided.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) rules: &'a Rules,
    pub(super) withheld: &'a Withheld,
    pub(super) linked: &'a Linked,
    pub(super) left: &'a RefCell<Vec<Left>>,
    pub(super) renewed: &'a RefCell<Vec<Renewed>>,
    pub(super) order: &'a Order,
}

/// Does what a call asks for. `is_waiting` says whether the caller is still the one that was
/// looked at.
pub(super) fn perform(
    Surroundings {
        rules,
        withheld,
        linked,
        left,
        renewed,
        order,
    }: &Surroundings<'_>,
    call: &Call,
    is_waiting: &dyn Fn() -> bool,
) -> Result<Outcome, Refused> {
    let tracee = Tracee::new(call.thread);
    let context = Context {
        rules,
        withheld,
        linked,
        left,
        renewed,
        order,
        tracee: &tracee,
        is_waiting,
    };
    let a = call.arguments;
    // The kernel looks at the low words of these arguments.
    let (fd, flags, mode) = (
        |n: usize| a[n] as i32,
        |n: usize| a[n] as i32,
        |n: usize| a[n] as u32,
    );
    const HERE: i32 = libc::AT_FDCWD;
    #[cfg(target_arch = "x86_64")]
    match call.number {
        libc::SYS_open => return open::open(&context, HERE, a[0], flags(1), mode(2)),
        libc::SYS_creat => {
            let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
            return open::open(&context, HERE, a[0], flags, mode(1));
        }
        libc::SYS_mkdir => return context.mkdir(HERE, a[0], mode(1)),
        libc::SYS_mknod => return context.mknod(HERE, a[0], mode(1)),
        libc::SYS_symlink => return context.symlink(a[0], HERE, a[1]),
        libc::SYS_link => return context.link((HERE, a[0]), (HERE, a[1]), 0),
        libc::SYS_unlink => return context.unlink(HERE, a[0], AtFlags::empty()),
        libc::SYS_rmdir => return context.unlink(HERE, a[0], AtFlags::REMOVEDIR),
        libc::SYS_rename => {
            return unless_leased(rename::rename(&context, (HERE, a[0]), (HERE, a[1]), 0));
        }
        _ => {}
    }
    match call.number {
        libc::SYS_openat => open::open(&context, fd(0), a[1], flags(2), mode(3)),
        libc::SYS_mkdirat => context.mkdir(fd(0), a[1], mode(2)),
        libc::SYS_mknodat => context.mknod(fd(0), a[1], mode(2)),
        libc::SYS_symlinkat => context.symlink(a[0], fd(1), a[2]),
        libc::SYS_linkat => context.link((fd(0), a[1]), (fd(2), a[3]), flags(4)),
        libc::SYS_renameat => {
            unless_leased(rename::rename(&context, (fd(0), a[1]), (fd(2), a[3]), 0))
        }
        libc::SYS_renameat2 => unless_leased(rename::rename(
            &context,
            (fd(0), a[1]),
            (fd(2), a[3]),
            mode(4),
        )),
        libc::SYS_unlinkat => {
            let flags = AtFlags::from_bits(mode(2)).ok_or(Errno::INVAL)?;
            context.unlink(fd(0), a[1], flags)
        }
        libc::SYS_bind => context.bind(fd(0), a[1], a[2]),
        libc::SYS_truncate => unless_leased(open::truncate(&context, a[0], a[1])),
        _ => attributes::perform(&context, call),
    }
}

impl Context<'_> {
    /// Resolves the path at an address of the program.
    pub(super) fn place(&self, (folder, path): (i32, u64), follow: bool) -> Result<Place, Errno> {
        let path = self.tracee.text(path)?;
        self.place_of(folder, &path, follow)
    }

    pub(super) fn place_of(&self, folder: i32, path: &OsStr, follow: bool) -> Result<Place, Errno> {
        let place = resolve(|| self.tracee.folder(folder), path, follow, self.tracee)?;
        self.must_be_waiting()?;
        Ok(place)
    }

    /// Whoever was looked at was the caller, if that waits still.
    pub(super) fn must_be_waiting(&self) -> Result<(), Errno> {
        match (self.is_waiting)() {
            true => Ok(()),
            false => Err(Errno::SRCH),
        }
    }

    /// Sees that what the repositories around a path lead to is known before anything is decided there.
    pub(super) fn know(&self, path: &Path) -> Result<(), Refused> {
        match self.rules.unknown_around(path) {
            None if self.rules.would_be_obeyed(path) => {
                let reason =
                    "git's configuration obeys a file here as soon as this is a repository";
                let rule = self.rules.git(path).unwrap_or_default();
                Err(Refused::by(rule, path, reason))
            }
            None => Ok(()),
            Some(unknown) => Err(Refused::Unknown(Box::new(unknown))),
        }
    }

    /// Whether a name may be created or written.
    pub(super) fn decide(&self, path: &Path) -> Result<(), Refused> {
        self.know(path)?;
        self.judge(self.rules.decide(path), path)
    }

    /// The same for a file that is opened. One of git's own files is looked at again where it is
    /// new: it may be copied from elsewhere.
    pub(super) fn decide_opened(&self, path: &Path, exists: bool) -> Result<(), Refused> {
        self.know(path)?;
        match self.rules.decide_file(path) {
            Verdict::Git(_) if !exists => Ok(()),
            verdict => self.judge(verdict, path),
        }
    }

    fn judge(&self, verdict: Verdict, path: &Path) -> Result<(), Refused> {
        match verdict {
            Verdict::Allow => Ok(()),
            Verdict::Refuse(rule) => Err(Refused::Rule {
                rule,
                path: path.to_path_buf(),
                reason: self.rules.why_protected(path),
            }),
            Verdict::Git(rule) => Err(Refused::by(rule, path, CONFIGURATION)),
        }
    }

    /// Whether a file that is there may be changed as far as its other names are concerned.
    pub(super) fn decide_names(&self, path: &Path, file: &OwnedFd) -> Result<(), Refused> {
        if !self.rules.has_aliases() {
            return Ok(());
        }
        let stat = fstat(file)?;
        self.left
            .borrow_mut()
            .extend(self.rules.left_by_name(&stat));
        match self.rules.protected_file(&stat) {
            None => Ok(()),
            Some((rule, name)) => {
                let name = Text::from(self.rules.of_policy(name).into_os_string());
                let reason = format!("it is the file {name} by another name");
                Err(Refused::by(rule, path, reason))
            }
        }
    }

    /// Notes a file that is made or changed here.
    pub(super) fn note(&self, path: &Path) {
        self.left.borrow_mut().extend(self.rules.left(path));
    }

    /// Notes a configuration of git that leads elsewhere, or by which git shows or signs otherwise.
    pub(super) fn note_configuration(
        &self,
        path: &Path,
        both: [&[u8]; 2],
        of_user: bool,
        site: &Site<'_>,
    ) {
        let left = self.rules.left_configuration(path, both, of_user, site);
        self.left.borrow_mut().extend(left);
    }

    /// Notes a folder that gets this name, with what it holds.
    pub(super) fn note_folder(&self, path: &Path) {
        self.left.borrow_mut().extend(self.rules.left_below(path));
    }

    /// The same for a file that is read.
    pub(super) fn decide_read(&self, path: &Path) -> Result<(), Refused> {
        self.judge(self.rules.decide_read(path), path)
    }

    /// What a new or changed file at `path` means to git, where the policy protects its configuration.
    pub(super) fn gate(&self, path: &Path) -> Result<Gate, Refused> {
        match self.rules.git(path) {
            None => Ok(Gate::Free),
            Some(rule) => self.meant(git::meaning(path), path, rule),
        }
    }

    /// The same for a folder.
    pub(super) fn gate_folder(&self, path: &Path) -> Result<(), Refused> {
        match self.rules.git(path) {
            None => Ok(()),
            Some(rule) => self.meant(git::folder(path), path, rule).map(drop),
        }
    }

    fn meant(&self, meaning: Meaning, path: &Path, rule: u32) -> Result<Gate, Refused> {
        match meaning {
            Meaning::Plain => Ok(Gate::Free),
            Meaning::Never(reason) => Err(Refused::by(rule, path, reason)),
            Meaning::Obeyed(content) => Ok(Gate::Obeyed(content, rule)),
            Meaning::Completes => {
                let top = path.parent().unwrap_or(path);
                let renewed = rename::renew(top, self.rules, &mut self.renewed.borrow_mut());
                let gate = match git::is_head(path) {
                    true => Gate::Obeyed(Content::Reference, rule),
                    false => Gate::Free,
                };
                renewed.map(|()| gate).map_err(|reason| {
                    let reason =
                        format!("it would make a repository of what lies beside it: {reason}");
                    Refused::by(rule, path, reason)
                })
            }
        }
    }

    /// The same where nothing but a plain name will do.
    pub(super) fn must_be_free(&self, path: &Path) -> Result<(), Refused> {
        match self.gate(path)? {
            Gate::Free => Ok(()),
            Gate::Obeyed(_, rule) => Err(Refused::by(rule, path, CONFIGURATION)),
        }
    }

    /// New names get the program's mask.
    pub(super) fn take_umask(&self) -> Result<(), Errno> {
        rustix::process::umask(self.tracee.status()?.umask);
        Ok(())
    }

    /// The place of a new name that may be created.
    pub(super) fn free(&self, at: (i32, u64)) -> Result<Free, Refused> {
        self.free_for(at, Rules::decide)
    }

    fn free_for(
        &self,
        at: (i32, u64),
        decide: impl FnOnce(&Rules, &Path) -> Verdict,
    ) -> Result<Free, Refused> {
        match self.place(at, false)? {
            Place::Entry {
                folder,
                name,
                found: None,
                slash,
            } => {
                let path = shown(folder.as_fd())?.join(&name);
                self.know(&path)?;
                self.judge(decide(self.rules, &path), &path)?;
                self.note(&path);
                self.take_umask()?;
                Ok(Free {
                    folder,
                    name,
                    path,
                    slash,
                })
            }
            _ => Err(Errno::EXIST.into()),
        }
    }

    fn mkdir(&self, folder: i32, path: u64, mode: u32) -> Result<Outcome, Refused> {
        let new = self.free_for((folder, path), Rules::decide_folder)?;
        self.gate_folder(&new.path)?;
        mkdirat(new.folder, &new.name, Mode::from_raw_mode(mode))?;
        Ok(Outcome::Done)
    }

    fn mknod(&self, folder: i32, path: u64, mode: u32) -> Result<Outcome, Refused> {
        let new = self.free((folder, path))?;
        self.must_be_free(&new.path)?;
        if new.slash {
            return Err(Errno::NOENT.into());
        }
        let kind = match mode & libc::S_IFMT {
            0 => FileType::RegularFile,
            bits => FileType::from_raw_mode(bits),
        };
        if matches!(kind, FileType::CharacterDevice | FileType::BlockDevice) {
            return Err(Errno::PERM.into());
        }
        self.must_be_file(&new.path, kind)?;
        mknodat(new.folder, &new.name, kind, Mode::from_raw_mode(mode), 0)?;
        Ok(Outcome::Done)
    }

    /// Whether a special file may have this name: git waits for a pipe that it takes for a file, and believes
    /// what a socket says.
    pub(super) fn must_be_file(&self, path: &Path, kind: FileType) -> Result<(), Refused> {
        match self.rules.git(path) {
            Some(rule) if kind != FileType::RegularFile && git::must_be_file(path, kind) => {
                Err(Refused::by(rule, path, "git takes it for a file"))
            }
            _ => Ok(()),
        }
    }

    /// Takes away a name that no mount keeps.
    fn unlink(&self, folder: i32, path: u64, flags: AtFlags) -> Result<Outcome, Refused> {
        if !(flags - AtFlags::REMOVEDIR).is_empty() {
            return Err(Errno::INVAL.into());
        }
        match self.place((folder, path), false)? {
            Place::Entry {
                folder,
                name,
                found: Some(_),
                slash,
            } => {
                if slash && !flags.contains(AtFlags::REMOVEDIR) {
                    return Err(Errno::NOTDIR.into());
                }
                let path = shown(folder.as_fd())?.join(&name);
                self.decide_removal(&path, flags.contains(AtFlags::REMOVEDIR))?;
                unlinkat(folder, &name, flags)?;
                Ok(Outcome::Done)
            }
            Place::Entry { .. } => Err(Errno::NOENT.into()),
            Place::Object(_) => Err(Errno::INVAL.into()),
        }
    }

    /// Whether the policy lets something be changed that is there; git's own files are decided apart.
    pub(super) fn decide_there(&self, path: &Path, folder: bool) -> Result<(), Refused> {
        self.know(path)?;
        let verdict = match folder {
            true => self.rules.decide_folder(path),
            false => self.rules.decide_file(path),
        };
        match verdict {
            Verdict::Git(_) => Ok(()),
            verdict => self.judge(verdict, path),
        }
    }

    /// Whether a name may be taken away. A program removes what it has made, samples of hooks and harmless
    /// configurations among it; what somebody else put there to be obeyed stays.
    fn decide_removal(&self, path: &Path, folder: bool) -> Result<(), Refused> {
        if !self.rules.is_of_dependency(path) {
            self.decide_there(path, folder)?;
        }
        if self.rules.is_pinned(path) {
            // As the kernel answers where it is a mount.
            return Err(Errno::BUSY.into());
        }
        let Some(rule) = self.rules.git(path).filter(|_| !folder) else {
            return Ok(());
        };
        match git::meaning(path) {
            Meaning::Never(_) if git::is_hook(path) => Err(Refused::by(
                rule,
                path,
                "it is a hook, and was not made by the program",
            )),
            Meaning::Obeyed(content) if content.is_configuration() => {
                let own = self.rules.of_policy(path);
                let site = self.rules.site(&own);
                // A branch without submodules has no list of them.
                let may_go = content == Content::Modules || self.rules.baseline(path).is_empty();
                match rename::content_of(path, content.limit()) {
                    Ok(text) if may_go => git::check_removal(content, &text, &site)
                        .map_err(|reason| Refused::by(rule, path, reason)),
                    _ => Err(Refused::by(
                        rule,
                        path,
                        "it holds what the program may not set",
                    )),
                }
            }
            _ => Ok(()),
        }
    }
}

/// An act on a file that another program has leased (fcntl(2)) waits, as the kernel would have it wait.
fn unless_leased(outcome: Result<Outcome, Refused>) -> Result<Outcome, Refused> {
    match outcome {
        Err(Refused::Errno(Errno::AGAIN)) => Ok(Outcome::Waits),
        outcome => outcome,
    }
}
