//! Removing what no image needs any more.
//!
//! Decision: what a manifest names stays, what a running machine holds stays, and nothing is removed
//! while a build goes on. Everything else in the cache can be made again.

use super::cache::{Cache, fault};
use super::manifest;
use crate::template;
use bailiwick_event::Failure;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What was removed and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// How many parts, and builds that were interrupted.
    pub removed: usize,
    /// What they took on the disk, in bytes.
    pub freed: u64,
    /// Parts that no image names but a running machine holds.
    pub held: usize,
}

/// Removes parts that no manifest names, templates of machines, and what interrupted builds have left. `waits` is called
/// with a word on who it is, if another build goes on, before its end is waited for.
///
/// # Errors
/// A fault, if a manifest cannot be read (its parts are then unknown and nothing is removed) or
/// something cannot be removed.
pub fn collect(folder: &Path, waits: &mut dyn FnMut(&str)) -> Result<Collected, Failure> {
    let cache = Cache::at(folder);
    let _lock = cache.lock(waits)?;
    let mut needed = BTreeSet::new();
    for name in manifest::names(&cache)? {
        let (manifest, _) = manifest::read(&cache, &name)?;
        needed.extend(manifest.parts.iter().map(manifest::Part::file_name));
    }
    let mut collected = Collected::default();
    for path in entries(&cache.parts())? {
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let part = file_name.strip_suffix(".stamp").unwrap_or(&file_name);
        if needed.contains(part) {
            continue;
        }
        if is_held(&path) {
            collected.held += 1;
            continue;
        }
        remove(&path, &mut collected)?;
        collected.removed += usize::from(part == file_name);
    }
    for path in entries(&cache.images())? {
        // A manifest that was not finished.
        if path.extension().is_some_and(|e| e == "new") {
            remove(&path, &mut collected)?;
        }
    }
    sweep(&cache, &mut collected)?;
    let templates = folder.join("templates");
    if templates.is_dir() {
        // They are made again in a second.
        let (removed, freed) = template::collect(&templates, 0)
            .map_err(|error| Failure::fault(format!("{}: {error}", templates.display())))?;
        collected.removed += removed;
        collected.freed += freed;
    }
    Ok(collected)
}

/// Removes what interrupted builds have left.
pub(super) fn sweep(cache: &Cache, collected: &mut Collected) -> Result<(), Failure> {
    for path in entries(&cache.scratch())? {
        if !is_held(&path.join("lock")) {
            remove(&path, collected)?;
            collected.removed += 1;
        }
    }
    Ok(())
}

/// Whether another process has a lock on it.
fn is_held(path: &Path) -> bool {
    File::open(path)
        .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let list = fs::read_dir(folder).and_then(|entries| {
        entries
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>, std::io::Error>>()
    });
    list.map_err(|e| fault("read", folder, &e))
}

fn remove(path: &Path, collected: &mut Collected) -> Result<(), Failure> {
    collected.freed += size(path);
    let removed = match fs::symlink_metadata(path).is_ok_and(|m| m.is_dir()) {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    match removed {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(fault("removed", path, &e)),
        _ => Ok(()),
    }
}

/// What a file, or a folder with what is in it, takes on the disk, in bytes.
fn size(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    let own = metadata.blocks() * 512;
    match metadata.is_dir() {
        true => entries(path).map_or(own, |all| own + all.iter().map(|e| size(e)).sum::<u64>()),
        false => own,
    }
}

#[cfg(test)]
#[path = "collect_tests.rs"]
mod tests;
