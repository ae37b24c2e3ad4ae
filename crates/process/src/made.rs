//! What a sandbox that waits for its command was made from. Files come and go meanwhile, so that
//! it is made again in thought before the command enters: where anything would be different by
//! now, the sandbox is of no use any more.

use crate::identity::Identity;
use crate::setup::SetUp;
use bailiwick_event::Failure;
use bailiwick_sandbox::Launch;
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

/// Device and number of each file, where it is there, and what is mounted at or below them.
#[derive(PartialEq, Eq)]
pub(crate) struct Files {
    numbers: Vec<Option<(u64, u64)>>,
    /// None where the kernel does not say.
    mounts: Option<Vec<String>>,
}

impl Made {
    /// A sandbox that is made from this. `files` are from before it was begun: looked up later they
    /// could be others than those that it has.
    pub(crate) fn new(identity: Identity, set_up: SetUp, files: Files) -> Self {
        Self {
            identity,
            set_up,
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
        let files = files(&now);
        Ok(now == self.set_up && files.mounts.is_some() && files == self.files)
    }
}

/// Device and number of each file that the plan mounts, covers or keeps: one that was replaced has
/// others, and lies behind no mount.
pub(crate) fn files(set_up: &SetUp) -> Files {
    let plan = &set_up.plan;
    let sources = plan.binds.iter().map(|bind| bind.source.as_path());
    let kept = plan.pinned.iter().chain(&plan.protected);
    let masked = plan.masked.iter().map(|mask| mask.at.as_path());
    let numbers = sources
        .clone()
        .chain(kept.map(AsRef::<Path>::as_ref))
        .chain(masked)
        .map(|path| {
            let stat = rustix::fs::lstat(path).ok()?;
            Some((stat.st_dev, stat.st_ino))
        })
        .collect();
    // Lines of proc_pid_mountinfo(5), whose fifth word is the place.
    let inside = |line: &&str| {
        let place = line.split(' ').nth(4).map(unescaped);
        place.is_some_and(|place| sources.clone().any(|source| place.starts_with(source)))
    };
    let table = mount_table().ok();
    let mounts = table.map(|table| table.lines().filter(inside).map(str::to_owned).collect());
    Files { numbers, mounts }
}

/// The mounts of this process, in few calls: the kernel does not say how long the table is.
fn mount_table() -> io::Result<String> {
    let mut table = String::with_capacity(16 << 10);
    File::open("/proc/self/mountinfo")?.read_to_string(&mut table)?;
    Ok(table)
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
