//! A sandbox on a machine that gives no namespaces: what may be read and written is kept by
//! Landlock and the write broker alone, and there is no network but the connections that the
//! supervisor makes. The process that is pid 1 elsewhere is an ordinary one here, so that what it
//! can end and see needs care.

use crate::plan::{Access, Plan};
use crate::programs::Programs;
use crate::ruleset;
use crate::setup::raw;
use crate::skeleton::Skeleton;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What such a sandbox needs besides what every other does.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bare {
    /// A folder of its own for temporary files, which the supervisor makes and removes.
    #[serde(with = "raw")]
    pub(crate) scratch: PathBuf,
    /// Whether there are machines that the policy grants: calls of `connect` are then made by the
    /// supervisor.
    pub(crate) network: bool,
    /// What may be executed of what may be read.
    pub(crate) programs: Programs,
}

/// Devices that every program may use.
const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// Restricts this process, and all that it starts, to what the plan shows.
pub(crate) fn enforce(plan: &Plan, bare: &Bare) -> io::Result<bool> {
    let of = |wanted: Access| {
        plan.binds
            .iter()
            .filter(move |bind| bind.access == wanted)
            .map(|bind| bind.source.clone())
    };
    let mut read: Vec<PathBuf> = of(Access::Read).collect();
    // Programs look at themselves there; other processes of the user are seen as well.
    read.push("/proc".into());
    let mut write: Vec<PathBuf> = of(Access::Write).chain(of(Access::Private)).collect();
    write.push(bare.scratch.clone());
    write.extend(
        DEVICES
            .map(PathBuf::from)
            .into_iter()
            .filter(|d| d.exists()),
    );
    ruleset::enforce_on_host(&read, &write, &bare.programs)
        .map_err(|error| io::Error::other(error.to_string()))
}

/// The name of git's configuration among the temporary files.
const GIT: &str = ".gitconfig";
/// The name of the bundle of authorities among them.
const AUTHORITIES: &str = ".ca-bundle.pem";

/// Puts down what programs trust, and what git reads in the place of the user's own configuration, which is closed: git ends
/// where it may not read that.
pub(crate) fn prepare(skeleton: &Skeleton, scratch: &Path) -> io::Result<()> {
    if let Some(trust) = &skeleton.trust {
        fs::write(scratch.join(AUTHORITIES), &trust.bundle)?;
    }
    let mut files = skeleton.files.iter();
    match files.find(|file| file.path.ends_with(GIT)) {
        Some(file) => fs::write(scratch.join(GIT), &file.bytes),
        None => Ok(()),
    }
}

/// Variables that point a command to the folders that are its own here, and have the C library look
/// names up by TCP, which comes to the gate: there is no UDP.
pub(crate) fn variables(plan: &Plan, bare: &Bare) -> Vec<(OsString, OsString)> {
    let cache = plan
        .binds
        .iter()
        .find(|bind| bind.access == Access::Private && bind.at.ends_with(".cache"))
        .map(|bind| bind.source.clone());
    let temporary = ["TMPDIR", "TMP", "TEMP"].map(|name| (name, bare.scratch.clone()));
    let here = |name: &str| Some(bare.scratch.join(name)).filter(|file| file.exists());
    let git = here(GIT);
    let bundle = here(AUTHORITIES).into_iter();
    let trusting = bundle
        .flat_map(|file| bailiwick_sandbox::trust::VARIABLES.map(|name| (name, file.clone())));
    temporary
        .into_iter()
        .chain(git.map(|file| ("GIT_CONFIG_GLOBAL", file)))
        .chain(trusting)
        .chain(cache.map(|folder| ("XDG_CACHE_HOME", folder)))
        .map(|(name, folder)| (OsString::from(name), folder.into_os_string()))
        .chain(
            bare.network
                .then(|| ("RES_OPTIONS".into(), "use-vc".into())),
        )
        .collect()
}

/// Ends everything that this process has started, and all that those have: whoever loses its
/// parent becomes this one's child. What forks meanwhile is found in the next round.
pub(crate) fn end_descendants() {
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
    loop {
        let children = children();
        for child in children.iter().copied().filter_map(Pid::from_raw) {
            let _ = kill_process(child, Signal::KILL);
        }
        // The first end wakes this up; what was orphaned by it is a child by then.
        match wait(WaitOptions::empty()) {
            Ok(_) => while wait(WaitOptions::NOHANG).is_ok_and(|ended| ended.is_some()) {},
            Err(_) => return,
        }
    }
}

/// The children of every thread of this process.
fn children() -> Vec<i32> {
    let of = |thread: &Path| fs::read_to_string(thread.join("children")).unwrap_or_default();
    fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
        .flat_map(|entry| {
            let text = of(&entry.path());
            text.split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<i32>>()
        })
        .collect()
}
