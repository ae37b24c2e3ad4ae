//! What a sandbox that waits for its command was made from. Files come and go meanwhile, so that
//! it is made again in thought before the command enters: where anything would be different by
//! now, the sandbox is of no use any more.

use crate::identity::Identity;
use crate::setup::SetUp;
use bailiwick_event::Failure;
use bailiwick_sandbox::Launch;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The sandbox as it was made.
pub(crate) struct Made {
    identity: Identity,
    set_up: SetUp,
    /// The files behind its mounts.
    files: Files,
}

/// Device and number of each file, where it is there, and the mounts of that moment.
pub(crate) struct Files {
    numbers: Vec<Option<(u64, u64)>>,
    /// None where the kernel does not say.
    mounts: Option<Mounts>,
}

/// The mounts of this process.
struct Mounts {
    /// Tells whether there were others since.
    file: File,
    table: String,
}

impl Made {
    /// A sandbox that is made from this. `files` are from before it was begun: looked up later they
    /// could be others than those that it has.
    pub(crate) fn new(identity: Identity, set_up: SetUp, files: Files) -> Self {
        Self {
            identity,
            // A monitor's is what shows the files, and the same whoever's command comes.
            set_up: SetUp {
                command: None,
                ..set_up
            },
            files,
        }
    }

    /// Whether a sandbox for this launch would be made from the same now.
    pub(crate) fn is_still(&self, launch: &Launch<'_>) -> Result<bool, Failure> {
        let scratch = self.set_up.bare.as_ref().map(|bare| bare.scratch.as_path());
        let mut now = SetUp::of(launch, self.identity, scratch)?;
        now.command = None;
        now.plan.notices.clear();
        now.bounds.exact = self.set_up.bounds.exact;
        now.owners.clone_from(&self.set_up.owners);
        let mounts = self.files.mounts.as_ref();
        Ok(now == self.set_up
            && numbers(&now) == self.files.numbers
            && mounts.is_some_and(|mounts| mounts.are_still(&now)))
    }
}

/// What the plan's files and mounts are now.
pub(crate) fn files(set_up: &SetUp) -> Files {
    Files {
        mounts: Mounts::now().ok(),
        numbers: numbers(set_up),
    }
}

/// Device and number of each file that the plan mounts, covers or keeps: one that was replaced has
/// others, and lies behind no mount.
fn numbers(set_up: &SetUp) -> Vec<Option<(u64, u64)>> {
    let plan = &set_up.plan;
    let kept = plan.pinned.iter().chain(&plan.protected);
    let masked = plan.masked.iter().map(|mask| &mask.at);
    let at = kept.chain(masked).map(|at| plan.on_host(at));
    sources(set_up)
        .map(Path::to_path_buf)
        .chain(at)
        .map(|path| {
            let stat = rustix::fs::lstat(&path).ok()?;
            Some((stat.st_dev, stat.st_ino))
        })
        .collect()
}

fn sources(set_up: &SetUp) -> impl Iterator<Item = &Path> {
    set_up.plan.binds.iter().map(|bind| bind.source.as_path())
}

impl Mounts {
    fn now() -> io::Result<Self> {
        let mut file = File::open("/proc/self/mountinfo")?;
        // In few calls: the kernel does not say how long the table is.
        let mut table = String::with_capacity(16 << 10);
        file.read_to_string(&mut table)?;
        Ok(Self { file, table })
    }

    /// Whether nothing else is mounted now at, above or below what the sandbox shows, and nothing
    /// otherwise.
    fn are_still(&self, set_up: &SetUp) -> bool {
        // proc_pid_mounts(5): the kernel's word that anything has changed since it was opened.
        let mut set = [PollFd::new(&self.file, PollFlags::PRI)];
        if poll(&mut set, Some(&Timespec::default())).is_ok_and(|changed| changed == 0) {
            return true;
        }
        Self::now().is_ok_and(|now| now.shown(set_up).eq(self.shown(set_up)))
    }

    /// The lines about what the sandbox shows and where that lies; the fifth word of
    /// proc_pid_mountinfo(5) is the place.
    fn shown<'a>(&'a self, set_up: &'a SetUp) -> impl Iterator<Item = &'a str> {
        self.table.lines().filter(|line| {
            let place = line.split(' ').nth(4).map(unescaped);
            let concerns = |place: PathBuf| {
                sources(set_up)
                    .any(|source| place.starts_with(source) || source.starts_with(&place))
            };
            place.is_some_and(concerns)
        })
    }
}

/// A path of mountinfo, in which some bytes are three octal digits.
fn unescaped(word: &str) -> PathBuf {
    let escapes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let path = escapes
        .iter()
        .fold(word.to_owned(), |path, (from, to)| path.replace(from, to));
    PathBuf::from(path)
}
