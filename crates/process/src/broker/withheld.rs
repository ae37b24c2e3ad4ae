//! Git that checks out what it may not write. A program that is refused one file of many stops with half of them,
//! and git has no way back; so it is told that the file was written, nothing is, and the entry of the index is
//! marked as not checked out, which is git's own way to say so. Any other program is refused.

use super::act::Refused;
use super::content_of;
use super::locks::Locks;
use super::path::shown;
use super::rules::{Rules, Verdict};
use super::tracee::Tracee;
use crate::git::{self, Content};
use crate::kernel::ACCESS;
use crate::message;
use crate::notify::Call;
use bailiwick_event::shell_word;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlink, statat, unlinkat,
};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// So many files and folders are withheld in a run; then git is refused as everybody is.
const MOST: usize = 10_000;
/// What is said of each.
const GOES_ON: &str = "git goes on without it: the file is withheld";

/// What was withheld, by the lock of the index that git held.
#[derive(Debug, Default)]
pub(super) struct Withheld {
    checkouts: BTreeMap<PathBuf, Checkout>,
    /// Empty files in the place of links, by the lock.
    stand_ins: Vec<(PathBuf, StandIn)>,
    count: usize,
}

/// What was withheld in one working tree; paths are the index's.
#[derive(Debug, Default)]
struct Checkout {
    /// With what was there when it was compared with the index: what the user writes afterwards is his change.
    files: BTreeMap<Vec<u8>, Option<git::Seen>>,
    /// Folders that git believes to have made, and the rule that refused each.
    folders: BTreeMap<PathBuf, u32>,
    /// What git believes to have removed. It removes a file as well before it makes another in its place: which of
    /// both it was is known when git makes that, or when it has done.
    removed: BTreeMap<PathBuf, Refused>,
}

/// A refusal of which git was told nothing.
pub(super) struct Untold {
    pub(super) refused: Refused,
    pub(super) withheld: message::Withheld,
}

impl Untold {
    fn new(refused: Refused, path: PathBuf, removed: bool) -> Self {
        let below = path.into_os_string();
        let withheld = message::Withheld { below, removed };
        Self { refused, withheld }
    }
}

/// An act that is not done.
pub(super) struct Instead {
    /// What the program gets for a file, and whether it is closed at exec.
    pub(super) file: Option<(OwnedFd, bool)>,
    /// An empty file that was made in the place of a link: its path inside, device and number there.
    pub(super) made: Option<(PathBuf, (u64, u64))>,
    /// The refusal of a file that was not withheld before.
    pub(super) news: Option<Untold>,
}

/// An act of git's while it checks out.
struct Act<'a> {
    step: Step,
    /// What is made or removed, from the top of the working tree.
    path: PathBuf,
    /// The top of the working tree.
    tree: OwnedFd,
    /// The lock of the index that git holds.
    lock: &'a Path,
    /// What is there.
    there: Option<Stat>,
    /// Whether git puts changes aside or takes them back: what it is told to have written it forgets everywhere else.
    is_of_stash: bool,
}

impl<'a> Act<'a> {
    /// The act that a call is, where it is one.
    fn of(call: &Call, locks: &'a Locks) -> Option<Self> {
        let (step, address) = step(call)?;
        let tracee = Tracee::new(call.thread);
        let path = PathBuf::from(tracee.text(address).ok()?);
        if !is_in_tree(&path) || !is_git(call.thread) {
            return None;
        }
        let status = tracee.status().ok()?;
        let lock = locks.of_index(&[status.process, status.parent])?;
        let tree = tracee.folder(libc::AT_FDCWD).ok()?;
        let there = statat(&tree, &path, AtFlags::SYMLINK_NOFOLLOW).ok();
        Some(Self {
            step,
            path,
            tree,
            lock,
            there,
            is_of_stash: is_stash(status.process) || is_stash(status.parent),
        })
    }
}

/// What git does when it checks out.
enum Step {
    /// It makes a file, with these flags of open(2).
    File(i32),
    Folder,
    Link,
    Removal,
}

impl Withheld {
    /// Files that were withheld under a lock, and what is there of each.
    pub(super) fn below(&self, lock: &Path) -> BTreeMap<Vec<u8>, Option<git::Seen>> {
        let checkout = self.checkouts.get(lock);
        checkout.map_or_else(BTreeMap::new, |checkout| checkout.files.clone())
    }

    /// What is done instead of an act that was refused; none where it is none of git's that checks out.
    ///
    /// # Errors
    /// Why the act stays refused: git would lose or hide something.
    pub(super) fn instead(
        &mut self,
        call: &Call,
        refused: &Refused,
        locks: &Locks,
        rules: &Rules,
    ) -> Option<Result<Instead, String>> {
        let by_rule = matches!(refused, Refused::Rule { .. });
        if !by_rule && *refused != Refused::Errno(Errno::NOENT) || self.count >= MOST {
            return None;
        }
        let act = Act::of(call, locks)?;
        // A program that is called git may go through links; git does not.
        let meant =
            |path: &Path| shown(act.tree.as_fd()).is_ok_and(|top| top.join(&act.path) == path);
        if matches!(refused, Refused::Rule { path, .. } if !meant(path)) {
            return None;
        }
        if let Err(reason) = self.goes_on(&act, rules) {
            return Some(Err(reason));
        }
        self.withhold(act, refused, rules).map(Ok)
    }

    /// Whether git may go on without an act.
    fn goes_on(&self, act: &Act<'_>, rules: &Rules) -> Result<(), String> {
        let Act {
            path, lock, there, ..
        } = act;
        if act.is_of_stash {
            let file = shell_word(&format!(":(exclude,literal,top){}", path.to_string_lossy()));
            return Err(match act.step {
                Step::Removal => format!(
                    "git stash cannot take this file out of the way; leave it out: `git stash push -- :/ {file}`"
                ),
                _ => "git stash would forget the file, which it cannot bring back".to_owned(),
            });
        }
        let index = IndexOf { lock, rules };
        let known = self.checkouts.get(*lock);
        let kept = match (&act.step, there) {
            (Step::Removal, Some(stat)) => {
                let folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
                folder || index.records(&act.tree, path, stat)
            }
            (Step::File(_) | Step::Link, Some(_)) => {
                known.is_some_and(|c| c.files.contains_key(path.as_os_str().as_bytes()))
            }
            _ => true,
        };
        if !kept {
            return Err("it is not what git has recorded of it, and would be lost".to_owned());
        }
        if known.is_none() && index.is_split() {
            return Err(
                "git's index is split (core.splitIndex) and cannot say that the file is not checked out"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Notes that an act is not done.
    fn withhold(&mut self, act: Act<'_>, refused: &Refused, rules: &Rules) -> Option<Instead> {
        let Act {
            step,
            path,
            tree,
            lock,
            there,
            ..
        } = act;
        let (rule, whole) = match refused {
            Refused::Rule { rule, path, .. } => (*rule, path.clone()),
            // Below a folder that was not made either.
            _ => {
                let folders = &self.checkouts.get(lock)?.folders;
                let mut above = path.ancestors().skip(1);
                let rule = above.find_map(|above| folders.get(above))?;
                (*rule, shown(tree.as_fd()).ok()?.join(&path))
            }
        };
        let mut made = None;
        if matches!(step, Step::Link) && there.is_none() {
            let stand_in = StandIn::new(tree, &path, rules).ok()?;
            made = stand_in.file().map(|file| (whole.clone(), file));
            self.stand_ins.push((lock.to_path_buf(), stand_in));
        }
        let file = match step {
            Step::File(flags) => Some((nowhere(flags).ok()?, flags & libc::O_CLOEXEC != 0)),
            _ => None,
        };
        let refused = Refused::by(rule, &whole, GOES_ON);
        let checkout = self.checkouts.entry(lock.to_path_buf()).or_default();
        if let Step::Folder = step {
            let noted = checkout.folders.insert(path, rule).is_none();
            self.count += usize::from(noted);
            let news = None;
            return Some(Instead { file, made, news });
        }
        let name = path.as_os_str().as_bytes().to_vec();
        let noted = !checkout.files.contains_key(&name);
        let seen = there.as_ref().map(git::Seen::from);
        checkout.files.entry(name).or_insert(seen);
        self.count += usize::from(noted);
        let news = match step {
            Step::Removal if noted => {
                checkout.removed.insert(path, refused);
                None
            }
            Step::Removal => None,
            _ => {
                let new = noted || checkout.removed.remove(&path).is_some();
                new.then(|| Untold::new(refused, path, false))
            }
        };
        Some(Instead { file, made, news })
    }

    /// Takes away what stood for links, and forgets what was withheld, where git does not hold the lock any more: the
    /// index has the marks by then, and the user may take them away. Returns what git believes to have removed, without
    /// the folders around it.
    pub(super) fn tidy(&mut self, locks: &Locks) -> Vec<Untold> {
        if self.stand_ins.is_empty() && self.checkouts.is_empty() {
            return Vec::new();
        }
        self.stand_ins.retain(|(lock, _)| locks.has(lock));
        let over = self.checkouts.extract_if(.., |lock, _| !locks.has(lock));
        let mut untold: Vec<Untold> = Vec::new();
        for (_, Checkout { removed, .. }) in over {
            let mut within = PathBuf::new();
            // What lies in a folder comes after it.
            for (path, refused) in removed.into_iter().rev() {
                if !within.starts_with(&path) {
                    within.clone_from(&path);
                    untold.push(Untold::new(refused, path, true));
                }
            }
        }
        untold
    }
}

/// An empty file where git believes to have made a link, because it looks at it once; taken away when dropped.
#[derive(Debug)]
struct StandIn {
    /// The file and the folders that were made for it, the innermost first.
    made: Vec<Made>,
}

/// A file or folder that was made.
#[derive(Debug)]
struct Made {
    folder: OwnedFd,
    name: OsString,
    /// Itself: another may have its name by the time that it is taken away.
    itself: OwnedFd,
}

impl Made {
    /// Takes it away, unless something else has its name, or somebody has put something into it.
    fn take_away(&self) -> Result<(), Errno> {
        let own = fstat(&self.itself)?;
        let named = statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        let folder = FileType::from_raw_mode(own.st_mode) == FileType::Directory;
        if (own.st_dev, own.st_ino) != (named.st_dev, named.st_ino) || !folder && own.st_size > 0 {
            return Ok(());
        }
        // A folder that holds something by now stays.
        let flags = match folder {
            true => AtFlags::REMOVEDIR,
            false => AtFlags::empty(),
        };
        unlinkat(&self.folder, &self.name, flags)
    }
}

impl StandIn {
    /// Makes the file, and the folders above it where the policy protects their names: nobody can make anything in
    /// those.
    fn new(tree: OwnedFd, path: &Path, rules: &Rules) -> Result<Self, Errno> {
        let mut stand_in = Self { made: Vec::new() };
        let mut folder = tree;
        let mut parts: Vec<&OsStr> = path.iter().collect();
        let name = parts.pop().ok_or(Errno::INVAL)?;
        for part in parts {
            let named = rules.decide_folder(&shown(folder.as_fd())?.join(part));
            let may_make = matches!(named, Verdict::Refuse(_));
            let is_new = may_make && mkdirat(&folder, part, Mode::RWXU).is_ok();
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let inner = openat(&folder, part, flags, Mode::empty())?;
            let itself = inner.try_clone().map_err(|_| Errno::MFILE)?;
            let outer = std::mem::replace(&mut folder, inner);
            if is_new {
                stand_in.put(outer, part, itself);
            }
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let itself = openat(&folder, name, flags, Mode::RUSR | Mode::WUSR)?;
        stand_in.put(folder, name, itself);
        Ok(stand_in)
    }

    /// The device and number of the file.
    fn file(&self) -> Option<(u64, u64)> {
        let stat = fstat(&self.made.first()?.itself).ok()?;
        Some((stat.st_dev, stat.st_ino))
    }

    fn put(&mut self, folder: OwnedFd, name: &OsStr, itself: OwnedFd) {
        let name = name.to_owned();
        let made = Made {
            folder,
            name,
            itself,
        };
        self.made.insert(0, made);
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        for made in &self.made {
            let _ = made.take_away();
        }
    }
}

/// What a call does to which path, where it is one by which git checks out: relative to the top of the working
/// tree, where git goes first.
fn step(call: &Call) -> Option<(Step, u64)> {
    let a = call.arguments;
    let here = |step, at: usize| (a[0] as i32 == libc::AT_FDCWD).then_some((step, a[at]));
    let new = |flags: i32| {
        let makes = flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0;
        makes.then_some(Step::File(flags))
    };
    match call.number {
        libc::SYS_openat => here(new(a[2] as i32)?, 1),
        libc::SYS_mkdirat => here(Step::Folder, 1),
        libc::SYS_unlinkat => here(Step::Removal, 1),
        libc::SYS_symlinkat => (a[1] as i32 == libc::AT_FDCWD).then_some((Step::Link, a[2])),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => Some((new(a[1] as i32)?, a[0])),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir => Some((Step::Folder, a[0])),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink | libc::SYS_rmdir => Some((Step::Removal, a[0])),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_symlink => Some((Step::Link, a[1])),
        _ => None,
    }
}

/// Whether a path is one of a working tree, and not of its git folder.
fn is_in_tree(path: &Path) -> bool {
    let plain =
        |part| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git"));
    !path.as_os_str().is_empty() && path.components().all(plain)
}

/// Whether the caller is git, as it calls itself: another program that does loses its own files.
fn is_git(thread: u32) -> bool {
    let program = readlink(format!("/proc/{thread}/exe"), Vec::new());
    let program = program.map(|path| PathBuf::from(OsString::from_vec(path.into_bytes())));
    program.is_ok_and(|path| path.file_name() == Some(OsStr::new("git")))
}

/// Whether a process is a `git stash`.
fn is_stash(process: u32) -> bool {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    line.split(|&b| b == 0).any(|word| word == b"stash")
}

/// The index that a lock is of.
struct IndexOf<'a> {
    lock: &'a Path,
    rules: &'a Rules,
}

impl IndexOf<'_> {
    /// What it says, and whether there is one.
    fn read(&self) -> Option<(PathBuf, Vec<u8>)> {
        let path = self.lock.with_file_name("index");
        let text = content_of(&path, Content::Index.limit()).ok()?;
        Some((self.rules.of_policy(&path), text))
    }

    fn is_split(&self) -> bool {
        let index = self.read();
        index.is_some_and(|(path, text)| git::is_split(&text, &self.rules.site(&path)))
    }

    /// Whether a file of the working tree says what the index has of it: then nothing is lost where it goes.
    fn records(&self, tree: &OwnedFd, path: &Path, stat: &Stat) -> bool {
        let at = format!("/proc/self/fd/{}", tree.as_raw_fd());
        let file = Path::new(&at).join(path);
        let content = match readlink(&file, Vec::new()) {
            Ok(target) => target.into_bytes(),
            Err(_) => content_of(&file, 1 << 20).unwrap_or_default(),
        };
        let name = path.as_os_str().as_bytes();
        let index = self.read();
        index.is_some_and(|(own, text)| {
            git::records(
                &text,
                name,
                (&content, git::Seen::from(stat)),
                &self.rules.site(&own),
            )
        })
    }
}

/// A file that takes whatever is written and keeps nothing.
fn nowhere(flags: i32) -> Result<OwnedFd, Errno> {
    let access = OFlags::from_bits_retain((flags & ACCESS).cast_unsigned());
    openat(CWD, "/dev/null", access | OFlags::CLOEXEC, Mode::empty())
}
