//! What a workspace had where an apply changed it, so that the apply can be undone.
//!
//! Each apply has a folder of its own beside the session's disk, named after when it was made. It is complete
//! before the first file is changed: an apply that was interrupted can be undone as well.

use crate::selection::time;
use bailiwick_event::Failure;
use bailiwick_transfer::{Change, Changes, Entry, Kind, Listing, Reader, Writer};
use rustix::fs::{FlockOperation, flock};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufReader, BufWriter};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The folder, in that of the session's machine.
const ALL: &str = "applied";
/// What the workspace had, in a folder of one apply: entries with contents.
const HAD: &str = "had";
/// What the apply puts there: a listing of entries, and of what is gone.
const PUT: &str = "put";
/// What had been put on the disk at these paths: a listing.
const BASE: &str = "base";
/// What the name of an apply that was undone ends with.
const UNDONE: &str = ".undone";

/// So many of the last applies can be undone.
const KEPT: usize = 10;

/// One apply.
pub(super) struct Journal {
    folder: PathBuf,
    /// Nobody else applies to, or undoes, the same session meanwhile.
    _lock: File,
}

fn fault(path: &Path) -> impl Fn(io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| Failure::fault(format!("{path}: {error}"))
}

/// Writes a listing that is on the disk when this returns, whole or not at all.
fn write<'a>(path: &Path, entries: impl Iterator<Item = &'a Entry>) -> Result<(), Failure> {
    let new = path.with_extension("new");
    let written = File::create(&new).and_then(|file| {
        let mut writer = Writer::new(BufWriter::new(&file));
        writer.listing(entries)?;
        drop(writer);
        file.sync_all()
    });
    written
        .and_then(|()| fs::rename(&new, path))
        .map_err(fault(path))
}

/// Keeps a listing under a name that one may have.
pub(super) fn write_listing(path: &Path, listing: &Listing) -> Result<(), Failure> {
    write(path, listing.0.values())
}

/// Reads a listing.
pub(super) fn read_listing(path: &Path) -> io::Result<Listing> {
    Listing::read(BufReader::new(File::open(path)?))
}

fn read(path: &Path) -> Result<Listing, Failure> {
    read_listing(path).map_err(fault(path))
}

impl Journal {
    fn lock(all: &Path) -> Result<File, Failure> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(all).map_err(fault(all))?;
        let lock = File::open(all).map_err(fault(all))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(lock),
            Err(_) => Err(Failure::usage(
                "the session is being applied by another process\nhelp: wait until that has ended",
            )),
        }
    }

    /// Begins one for the session in this folder.
    pub(super) fn begin(machine: &Path) -> Result<Self, Failure> {
        let all = machine.join(ALL);
        let lock = Self::lock(&all)?;
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        // A clock that was set back makes none that is older than the last.
        let last = names(&all)?.pop().and_then(|name| made(&name));
        let number = now.as_nanos().max(last.unwrap_or_default() + 1);
        let folder = all.join(format!("{number:020}"));
        let mut builder = DirBuilder::new();
        builder
            .mode(0o700)
            .create(&folder)
            .map_err(fault(&folder))?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// The last apply of the session in this folder that was not undone.
    pub(super) fn last(machine: &Path) -> Result<Self, Failure> {
        let all = machine.join(ALL);
        let lock = Self::lock(&all)?;
        let mut names = names(&all)?;
        names.retain(|name| !name.ends_with(UNDONE) && all.join(name).join(PUT).is_file());
        let last = names.pop().ok_or_else(|| {
            Failure::usage(
                "nothing of this session was applied, or all of it was undone\nhelp: `bailiwick apply` \
                 brings what the session changed",
            )
        })?;
        Ok(Self {
            folder: all.join(last),
            _lock: lock,
        })
    }

    /// Where what the workspace had goes.
    pub(super) fn had(&self) -> Result<File, Failure> {
        let path = self.folder.join(HAD);
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        file.map_err(fault(&path))
    }

    /// What is about to be put there, once what was there is kept.
    pub(super) fn plan(
        &self,
        changes: &Changes,
        before: &Listing,
        after: &Listing,
    ) -> Result<(), Failure> {
        self.had()?.sync_all().map_err(fault(&self.folder))?;
        let base = changes.keys().filter_map(|path| before.0.get(path));
        write(&self.folder.join(BASE), base)?;
        self.sent(changes, after, &BTreeMap::new())?;
        self.prune()
    }

    /// What was put there by an apply that has not come to its end: what was sent, and else what was to be.
    pub(super) fn sent(
        &self,
        changes: &Changes,
        after: &Listing,
        sent: &BTreeMap<Vec<u8>, Entry>,
    ) -> Result<(), Failure> {
        let entry = |path: &Vec<u8>| {
            let known = sent.get(path).or_else(|| after.0.get(path)).cloned();
            (path.clone(), known.unwrap_or_else(|| Entry::gone(path)))
        };
        self.put(&changes.keys().map(entry).collect())
    }

    /// Removes those that were given up before they changed anything, and those that are too old.
    fn prune(&self) -> Result<(), Failure> {
        let all = self.folder.parent().unwrap_or(&self.folder);
        let others = names(all)?.into_iter().rev().map(|name| all.join(name));
        let others = others.filter(|folder| *folder != self.folder);
        let (whole, given_up): (Vec<_>, Vec<_>) =
            others.partition(|folder| folder.join(PUT).is_file());
        for folder in given_up.iter().chain(whole.iter().skip(KEPT - 1)) {
            fs::remove_dir_all(folder).map_err(fault(folder))?;
        }
        Ok(())
    }

    /// What was put there.
    pub(super) fn put(&self, entries: &BTreeMap<Vec<u8>, Entry>) -> Result<(), Failure> {
        write(&self.folder.join(PUT), entries.values())?;
        let folder = File::open(&self.folder).and_then(|folder| folder.sync_all());
        folder.map_err(fault(&self.folder))
    }

    /// What has to be done to have the workspace as it was: what it has now, and what becomes of that.
    pub(super) fn back(&self) -> Result<(Listing, Changes), Failure> {
        let put = read(&self.folder.join(PUT))?;
        let had = self.had()?;
        let fault = fault(&self.folder);
        let mut reader = Reader::new(BufReader::new(had));
        let (mut changes, mut unread) = (Changes::new(), BTreeSet::new());
        while let Some(entry) = reader.entry().map_err(&fault)? {
            if !put.0.contains_key(&entry.path) {
                continue;
            }
            // What the policy keeps from being read it keeps from being written.
            if matches!(entry.kind, Kind::Skipped { .. }) {
                unread.insert(entry.path);
                continue;
            }
            let was = put.0.get(&entry.path).map(|put| &put.kind);
            let change = match was {
                Some(Kind::Gone) => Change::Added,
                _ => Change::Changed,
            };
            changes.insert(entry.path, change);
        }
        for path in put.0.keys().filter(|path| !unread.contains(*path)) {
            changes.entry(path.clone()).or_insert(Change::Gone);
        }
        let mut now = put;
        now.0.retain(|_, entry| entry.kind != Kind::Gone);
        Ok((now, changes))
    }

    /// What had been put on the disk at its paths.
    pub(super) fn base(&self) -> Result<Listing, Failure> {
        read(&self.folder.join(BASE))
    }

    /// It was undone.
    pub(super) fn undone(self) -> Result<(), Failure> {
        let mut name = self.folder.clone().into_os_string();
        name.push(UNDONE);
        fs::rename(&self.folder, name).map_err(fault(&self.folder))
    }
}

impl Drop for Journal {
    /// An apply that has changed nothing is as if it had not been.
    fn drop(&mut self) {
        if !self.folder.join(PUT).is_file() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// When an apply with this name was made, in nanoseconds since 1970.
fn made(name: &str) -> Option<u128> {
    name.trim_end_matches(UNDONE).parse().ok()
}

/// The names of the applies in a folder, the oldest first.
fn names(all: &Path) -> Result<Vec<String>, Failure> {
    let entries = match fs::read_dir(all) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(fault(all))?,
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// A line for each apply of the session in this folder: when, how many files, and whether it was undone.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn applies(machine: &Path) -> Result<Vec<String>, Failure> {
    let all = machine.join(ALL);
    let line = |name: String| {
        let at = time(name.trim_end_matches(UNDONE).parse().ok()?);
        let put = read(&all.join(&name).join(PUT)).ok()?.0;
        let gone = put.values().filter(|e| e.kind == Kind::Gone).count();
        let undone = match name.ends_with(UNDONE) {
            true => ", undone",
            false => "",
        };
        let written = put.len() - gone;
        Some(format!("{at}: {written} written, {gone} removed{undone}"))
    };
    Ok(names(&all)?.into_iter().filter_map(line).collect())
}
