//! Denied programs, where no mount hides them: what is executed the kernel opens by itself, which no
//! broker sees, and a program whose memory another may look into is a file that can be read.
//!
//! Decision: Landlock gives the right to execute to what lies beside a denied program, and not to the
//! folders above it, because it knows no exception below a folder. What appears in those folders later
//! has not the right; so this is done where the sandbox itself cannot make anything there. In a folder
//! that it may write, in which programs are built, such a program is a reason not to start.

use crate::meant::denied;
use crate::plan::{Access, Bind, Mask, Plan, refused, shown};
use crate::setup::raw_list;
use crate::walk::Budget;
use bailiwick_event::Failure;
use bailiwick_policy::{Effective, PathEntry};
use rustix::fs::{Access as May, access};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What may be executed of what may be read.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Programs {
    /// Where not everything may be: denied programs, and the folders above them.
    #[serde(with = "raw_list")]
    pub(crate) parted: Vec<PathBuf>,
    /// What may be in those folders.
    #[serde(with = "raw_list")]
    pub(crate) beside: Vec<PathBuf>,
}

impl Programs {
    /// Those of a plan that is carried out without mounts.
    pub(crate) fn of(plan: &Plan, policy: &Effective) -> Result<Self, Failure> {
        let mut parted = BTreeSet::new();
        let mut denied = HashSet::new();
        for mask in &plan.masked {
            let above = |bind: &&Bind| mask.at.starts_with(&bind.source);
            let granting: Vec<&Bind> = plan.binds.iter().filter(above).collect();
            let Some(top) = granting.iter().map(|bind| &bind.source).min() else {
                continue;
            };
            let Some(program) = program_of(mask) else {
                continue;
            };
            if granting.iter().any(|bind| bind.access != Access::Read) {
                return Err(cannot_be_kept(&program, mask, policy));
            }
            let meta = fs::metadata(&mask.at).map_err(|error| closed(&mask.at, &error))?;
            denied.insert((meta.dev(), meta.ino()));
            let above = mask.at.ancestors().take_while(|path| path.starts_with(top));
            parted.extend(above.map(Path::to_path_buf));
        }
        let mut beside = Vec::new();
        let hidden = |path: &Path| plan.masked.iter().any(|mask| path.starts_with(&mask.at));
        for folder in parted.iter().filter(|path| !hidden(path)) {
            for entry in fs::read_dir(folder).map_err(|error| closed(folder, &error))? {
                let entry = entry.map_err(|error| closed(folder, &error))?;
                let Ok(meta) = entry.metadata() else {
                    continue;
                };
                // A second name of a denied program is none beside it.
                let second = denied.contains(&(meta.dev(), meta.ino()));
                if !second && !meta.is_symlink() && !parted.contains(&entry.path()) {
                    beside.push(entry.path());
                }
            }
            if beside.len() > Budget::START.entries {
                return Err(closed(folder, &io::Error::other("it has too many entries")));
            }
        }
        Ok(Self {
            parted: parted.into_iter().collect(),
            beside,
        })
    }
}

/// A program that a mask hides: itself, or one below it. Where that cannot be seen there is one.
fn program_of(mask: &Mask) -> Option<PathBuf> {
    if !mask.folder {
        return is_program(&mask.at).then(|| mask.at.clone());
    }
    let mut folders = vec![mask.at.clone()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        // Nobody executes anything in what nobody can go through.
        if access(&folder, May::EXEC_OK).is_err() {
            continue;
        }
        let Ok(entries) = fs::read_dir(&folder) else {
            return Some(folder);
        };
        for entry in entries {
            seen += 1;
            let Ok(entry) = entry else {
                return Some(folder);
            };
            if seen > Budget::START.entries {
                return Some(folder);
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_symlink() => {}
                _ if is_program(&entry.path()) => return Some(entry.path()),
                _ => {}
            }
        }
    }
    None
}

/// Whether the kernel would read a file into a program's memory. Of a script it reads the first line,
/// and its interpreter asks the broker for the rest.
fn is_program(path: &Path) -> bool {
    let may_be = |meta: &fs::Metadata| meta.is_file() && meta.mode() & 0o111 != 0;
    match fs::symlink_metadata(path) {
        Ok(meta) if may_be(&meta) => {}
        Ok(_) => return false,
        Err(error) => return error.kind() != ErrorKind::NotFound,
    }
    let mut head = [0; 4];
    match File::open(path).and_then(|mut file| file.read_exact(&mut head)) {
        Ok(()) => head == *b"\x7fELF",
        // Too short for a program.
        Err(error) => error.kind() != ErrorKind::UnexpectedEof,
    }
}

/// The entry by which a path is denied.
fn entry_of<'p>(mask: &Mask, policy: &'p Effective) -> Option<&'p PathEntry> {
    let leads = |path: PathBuf| crate::paths::resolve(&path).is_some_and(|r| r.real == mask.at);
    let names = |entry: &&PathEntry| {
        let meant = denied("filesystem.deny", entry).unwrap_or_default();
        let closed = meant.closed.into_iter().map(|closed| closed.path);
        meant
            .paths
            .into_iter()
            .chain(meant.led)
            .chain(closed)
            .any(leads)
    };
    policy.filesystem.deny.iter().find(names)
}

fn cannot_be_kept(program: &Path, mask: &Mask, policy: &Effective) -> Failure {
    let resource = format!(
        "{} is a program, or could be one, in a folder that may be written; without namespaces nothing \
         keeps it from being executed, and so from being read",
        shown(program)
    );
    let remedy = "take the right to execute it away (chmod a-x), or move it out of what [filesystem] \
        write names; with namespaces it is hidden (`bailiwick doctor` says what is missing)";
    match entry_of(mask, policy) {
        Some(entry) => refused("filesystem.deny", entry, resource, remedy),
        None => Failure::fault(format!("not started: {resource}\n  remedy: {remedy}")),
    }
}

fn closed(folder: &Path, error: &io::Error) -> Failure {
    Failure::fault(format!(
        "not started: {}: {error}; what may be executed beside a denied program cannot be told\n  \
         remedy: take the entry out of [filesystem] deny, or run where there are namespaces \
         (`bailiwick doctor` says what is missing)",
        shown(folder)
    ))
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
