//! What a sandbox could leave on the machine. Other tests run at the same time and come and go, so
//! nothing is counted: whatever was not there before has to be gone some moments later.

use super::wait;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// How names begin that tests give, and the product never does.
const TESTS: [&str; 2] = ["bailiwick-test-", "bailiwick-escapes-"];

/// Everything that is there now.
pub(crate) struct Traces {
    /// What every process of the sandbox has in its command line.
    marker: String,
    /// Whether no other test runs, so that names which any program could give count as well.
    alone: bool,
    before: BTreeSet<String>,
}

impl Traces {
    /// Notes what is there before a run.
    pub(crate) fn before(marker: &Path) -> Self {
        Self::of(marker, false)
    }

    /// The same where no other test runs: with what lies in folders that all programs share.
    pub(crate) fn before_alone(marker: &Path) -> Self {
        Self::of(marker, true)
    }

    fn of(marker: &Path, alone: bool) -> Self {
        let marker = marker.display().to_string();
        let before = found(&marker, alone);
        Self {
            marker,
            alone,
            before,
        }
    }

    /// Fails unless everything that came since is gone.
    #[track_caller]
    pub(crate) fn gone(&self, when: &str) {
        let mut new: BTreeSet<String> = &found(&self.marker, self.alone) - &self.before;
        // The kernel, or a program of another test, may take its time to go.
        wait::for_ok(&format!("nothing is left, {when}"), || {
            new = &new & &found(&self.marker, self.alone);
            match new.is_empty() {
                true => Ok(()),
                false => Err(format!("left behind: {new:#?}")),
            }
        });
    }
}

fn found(marker: &str, alone: bool) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    // The root of a sandbox is built at /tmp; everything else that is mounted comes from the test's
    // own folders.
    let folder = Path::new(marker).parent().unwrap().display().to_string();
    let ours = |line: &&str| line.contains(&folder) || line.contains(" / /tmp ");
    let mounts = text("/proc/self/mountinfo");
    all.extend(
        mounts
            .lines()
            .filter(ours)
            .map(|line| format!("mount {line}")),
    );
    if alone {
        shared(&mut all);
    }
    folders(Path::new("/sys/fs/cgroup"), &mut all);
    for pid in names("/proc").filter(|name| name.parse::<u32>().is_ok()) {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(marker) {
            all.insert(format!("process {pid}"));
        }
    }
    all
}

/// What lies where every program may put something.
fn shared(all: &mut BTreeSet<String>) {
    for kind in ["shm", "sem", "msg"] {
        let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        let ids = table.lines().filter_map(|l| l.split_whitespace().nth(1));
        all.extend(ids.map(|id| format!("System V {kind} {id}")));
    }
    for folder in ["/dev/shm", "/dev/mqueue", "/tmp", "/var/tmp", "/run"] {
        let found = names(folder).filter(|name| ours(name));
        all.extend(found.map(|name| format!("{folder}/{name}")));
    }
}

/// Whether the product could have given this name.
fn ours(name: &str) -> bool {
    name.contains("bailiwick") && !TESTS.iter().any(|test| name.starts_with(test))
}

fn names(folder: &str) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// The folders below one that are the product's: each is a cgroup.
fn folders(top: &Path, all: &mut BTreeSet<String>) {
    for entry in fs::read_dir(top).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if ours(&entry.file_name().to_string_lossy()) {
                all.insert(format!("cgroup {}", entry.path().display()));
            }
            folders(&entry.path(), all);
        }
    }
}
