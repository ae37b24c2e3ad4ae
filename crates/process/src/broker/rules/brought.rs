//! What git brings into a working tree at the user's next command, from a commit or an index of the run's: of what no
//! program could make there the user is told.

use super::Rules;
use crate::git::{self, Budget, Content, Kind, Meaning, Objects, Recorded, Site};
use crate::paths::below;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// So many bytes of objects are unpacked to know what the links of an index say.
const BYTES: u64 = 16 << 20;

impl Rules {
    /// Whether a file that git brings, or a link and what it says, is one that no program may make: its name is
    /// protected, it makes a repository of its folder or steers one, or it would lead around what is protected.
    pub(crate) fn refuses_brought(&self, file: &Path, link: Option<&OsStr>) -> bool {
        let inside = below(self.root(), file);
        let steers = || match git::meaning(&inside) {
            Meaning::Plain | Meaning::Obeyed(Content::Modules) => false,
            Meaning::Obeyed(_) | Meaning::Completes | Meaning::Never(_) => true,
        };
        let leads = |target: &OsStr| {
            self.above(&inside).is_some()
                || self.is_on_a_way(&inside)
                || self.denies_target(&inside, target).is_some()
                || self.objects_to_link(&inside, target).is_some()
        };
        self.is_refused(&inside) || steers() || link.is_some_and(leads)
    }

    /// The files, as paths inside, that an index with these new entries brings and no program could make; for a folder
    /// that would be a repository its `HEAD`. `all` are the entries of the index that are looked at, and the working
    /// tree of it is one of `tops`.
    pub(super) fn brought_by_index(
        &self,
        new: &[&Recorded],
        all: &[Recorded],
        tops: &[PathBuf],
        site: &Site<'_>,
    ) -> BTreeSet<PathBuf> {
        let budget = Budget::new(BYTES);
        let objects = OnceCell::new();
        let heads = heads(all);
        let mut found = BTreeSet::new();
        for entry in new {
            let place = |top: &PathBuf| top.join(OsStr::from_bytes(&entry.path));
            let link = entry.is_link().then(|| {
                let open = || {
                    let folder = site.shared_folder().join("objects");
                    Objects::at(&below(site.root, &folder), site.root, &budget)
                };
                let there = tops.iter().map(|top| below(self.root(), &place(top)));
                target_of(entry, there).or_else(|| stored_target(entry, objects.get_or_init(open)))
            });
            let refused = tops.iter().map(place).find(|place| match &link {
                // What it says is not known.
                Some(None) => true,
                Some(Some(target)) => self.refuses_brought(place, Some(target)),
                None => self.refuses_brought(place, None),
            });
            found.extend(refused.map(|place| below(self.root(), &place)));
            for head in heads_over(&heads, &entry.path) {
                let place = tops.iter().map(|top| top.join(OsStr::from_bytes(head)));
                found.extend(place.take(1).map(|place| below(self.root(), &place)));
            }
        }
        found
    }
}

/// What a link says, where it is in the working tree as the index has it.
fn target_of(entry: &Recorded, mut there: impl Iterator<Item = PathBuf>) -> Option<OsString> {
    there.find_map(|place| {
        let target = place.read_link().ok()?.into_os_string();
        entry.says(target.as_bytes()).then_some(target)
    })
}

/// What a link says by the object that git would make it of.
fn stored_target(entry: &Recorded, objects: &Objects<'_>) -> Option<OsString> {
    match objects.read(entry.file().1) {
        Ok((Kind::Blob, target)) => Some(OsString::from_vec(target)),
        _ => None,
    }
}

/// The `HEAD` of each folder below the top that has one, by the folder.
fn heads(entries: &[Recorded]) -> HashMap<&[u8], &[u8]> {
    let paths = entries.iter().map(|entry| entry.path.as_slice());
    let heads = paths.filter_map(|path| {
        let slash = path.iter().rposition(|&b| b == b'/')?;
        let is_head = path[slash + 1..].eq_ignore_ascii_case(b"HEAD");
        is_head.then_some((&path[..slash], path))
    });
    heads.collect()
}

/// The `HEAD` of each folder above a file that would read the file, if it were a repository.
fn heads_over<'a>(heads: &HashMap<&[u8], &'a [u8]>, path: &[u8]) -> Vec<&'a [u8]> {
    let slashes = (0..path.len()).filter(|at| path[*at] == b'/');
    let reads = slashes.filter(|at| {
        let first = path[at + 1..].split(|&b| b == b'/').next();
        first.is_some_and(git::is_part)
    });
    reads
        .filter_map(|at| heads.get(&path[..at]).copied())
        .collect()
}

/// Whether a path of an index may be a part of a repository that is not called `.git`.
pub(super) fn may_be_of_repository(path: &[u8]) -> bool {
    path.split(|&b| b == b'/').any(git::is_part)
}
