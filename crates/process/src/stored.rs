//! What a run has stored as objects of git. Git checks out what a file or a pack holds under an object's name and
//! does not compare the two; and a commit can bring protected files of which no name was made. When the run has
//! ended, what is new is compared, and what its commits bring is told.

use crate::broker::{Left, Removed, Rules};
use crate::git::{self, Brought, Budget, Changed, Fault, Kind, Objects, Pack, Stored};
use crate::indexes::Indexes;
use crate::kernel::is_open_for_writing;
use crate::mounts::open_without_links;
use crate::paths::{below, is_absent};
use crate::reached::{Packs, reached};
use bailiwick_event::Text;
use rustix::fs::{
    AtFlags, CWD, MemfdFlags, Mode, StatxFlags, fchmod, fstat, memfd_create, renameat, statx,
    unlinkat,
};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// So many bytes of new objects are unpacked in a folder; what is beyond is told.
const BYTES: u64 = 1 << 30;
/// So many files of a folder of objects are looked at.
const FILES: usize = 1_000_000;
/// So many packs are known that were there before.
const PACKS: usize = 100;

/// A reading of the clock by which files have their times: seconds and nanoseconds.
pub(crate) type Instant = (i64, i64);

/// What that clock says now. Files that change later have no earlier time. Since Linux 6.13 those that changed before
/// have an earlier one, which may be later than the coarse clock: a time that somebody has read is followed by a finer
/// one. So one is made and read; where the kernel has none of that, what changed in the same tick counts as later.
pub(crate) fn now() -> Instant {
    let changed = || {
        let file = memfd_create("bailiwick-now", MemfdFlags::CLOEXEC)?;
        fstat(&file)?;
        fchmod(&file, Mode::RUSR)?;
        let stat = fstat(&file)?;
        Ok::<_, Errno>((
            stat.st_ctime,
            i64::try_from(stat.st_ctime_nsec).unwrap_or(0),
        ))
    };
    changed().unwrap_or_else(|_| {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        (now.tv_sec, now.tv_nsec)
    })
}

/// Whether a file was not changed since.
pub(crate) fn is_before(meta: &Metadata, since: Instant) -> bool {
    (meta.ctime(), meta.ctime_nsec()) < since
}

/// When a file was made; none where the file system does not say. The kernel is asked: the standard library knows of it
/// with glibc alone.
pub(crate) fn made(path: &Path) -> Option<Instant> {
    let asked = StatxFlags::BTIME;
    let said = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, asked).ok()?;
    let is_known = StatxFlags::from_bits_retain(said.stx_mask).contains(asked);
    let made = said.stx_btime;
    is_known.then_some((made.tv_sec, i64::from(made.tv_nsec)))
}

/// Folders of objects in which a run stores something, as the host's paths, with what they had before.
#[derive(Debug, Default)]
pub(crate) struct Stores(BTreeMap<PathBuf, Before>);

/// The objects that a folder had.
#[derive(Debug, Default)]
struct Before {
    loose: HashSet<Vec<u8>>,
    packs: Vec<Pack>,
}

/// What was found when a run has ended.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) removed: Vec<Removed>,
    pub(crate) left: Vec<Left>,
}

impl Stores {
    /// Notes what a folder has that was there before `since`: a run is about to store something in it.
    pub(crate) fn begin(&mut self, folder: &Path, since: Instant) {
        if !self.0.contains_key(folder) {
            let before = Before::of(folder, since);
            self.0.insert(folder.to_path_buf(), before);
        }
    }

    /// Looks at what was stored at or after `since` in the repositories that were there (`indexes`) or may have been: packs
    /// by their lists, all of a folder `pack`, and files of objects in a folder `objects`. Where not all was told
    /// (`flooded`), packs count that were changed since.
    pub(crate) fn look(
        &mut self,
        rules: &Rules,
        stored: &[PathBuf],
        (indexes, flooded): (&Indexes, bool),
        since: Instant,
    ) -> Found {
        let mut found = Found::default();
        if !flooded && self.0.is_empty() && stored.is_empty() {
            return found;
        }
        let reached = reached(rules, indexes, since);
        let mut begun = std::mem::take(&mut self.0);
        let folders: BTreeSet<PathBuf> = reached.keys().chain(begun.keys()).cloned().collect();
        // A repository may have another path by now.
        let names: BTreeSet<&OsStr> = stored.iter().filter_map(|path| path.file_name()).collect();
        for folder in folders {
            let Some(rule) = rules.git(&below(rules.root(), &folder)) else {
                continue;
            };
            let reached = reached.get(&folder);
            let packs = reached.map(|reached| reached.packs);
            let is_new = packs.is_none() && indexes.is_new(rules, &folder, since);
            if open_without_links(&folder).is_err() || is_new {
                continue;
            }
            let budget = Budget::new(BYTES);
            let mut look = Look {
                objects: &Objects::at(&folder, Path::new("/"), &budget),
                folder: &folder,
                before: begun
                    .remove(&folder)
                    .map_or_else(OnceCell::new, OnceCell::from),
                whole: stored.contains(&folder.join("pack")),
                names: &names,
                all_packs: flooded || packs == Some(Packs::Changed),
                since,
                rule,
                commits: Vec::new(),
                removed: &mut found.removed,
                incomplete: false,
            };
            look.all();
            let trees = reached.map(|reached| &reached.trees);
            let files = look.brought(rules, trees.into_iter().flatten());
            let incomplete = look.incomplete.then(|| rules.left_objects(&folder));
            let brought = files.iter().filter_map(|file| rules.left_commit(file));
            found.left.extend(brought.chain(incomplete.flatten()));
        }
        found
    }
}

impl Before {
    fn of(folder: &Path, since: Instant) -> Self {
        let mut before = Self::default();
        // Of what is not known more is told than is new.
        let _ = files(folder, &mut |path, meta| {
            if is_before(meta, since) {
                match path.strip_prefix(folder).ok().and_then(git::stored_as) {
                    Some(Stored::Loose(id)) => drop(before.loose.insert(id)),
                    Some(Stored::Pack) if before.packs.len() < PACKS => {
                        let list = path.extension().is_some_and(|end| end == "idx");
                        before.packs.extend(Pack::open(path).ok().filter(|_| list));
                    }
                    _ => {}
                }
            }
        });
        before
    }

    fn has(&self, id: &[u8]) -> bool {
        let has = |pack: &Pack| pack.find(id).is_ok_and(|place| place.is_some());
        self.loose.contains(id) || self.packs.iter().any(has)
    }
}

/// Calls `each` with every file of a folder of objects, as deep as git puts any. Whether that were all.
fn files(folder: &Path, each: &mut dyn FnMut(&Path, &Metadata)) -> bool {
    const DEPTH: usize = 2;
    let (mut count, mut all) = (0, true);
    let mut folders = vec![(folder.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            all = false;
            continue;
        };
        for entry in entries {
            count += 1;
            if count > FILES {
                return false;
            }
            let meta = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)));
            match meta {
                Ok((path, meta)) if meta.is_dir() && depth < DEPTH => {
                    folders.push((path, depth + 1));
                }
                Ok((path, meta)) => each(&path, &meta),
                Err(error) => all &= is_absent(&error),
            }
        }
    }
    all
}

struct Look<'a> {
    objects: &'a Objects<'a>,
    folder: &'a Path,
    /// What the folder had before, as far as it was asked for.
    before: OnceCell<Before>,
    /// Whether it has come as a whole, and had nothing.
    whole: bool,
    /// The names of lists of packs that were stored.
    names: &'a BTreeSet<&'a OsStr>,
    /// Whether packs may have been stored of which it was not told.
    all_packs: bool,
    since: Instant,
    rule: u32,
    commits: Vec<Vec<u8>>,
    removed: &'a mut Vec<Removed>,
    /// Whether something could not be looked at.
    incomplete: bool,
}

impl Look<'_> {
    /// Compares what is new with its names, and takes away what differs. What is small comes first: a large one uses
    /// up what may be unpacked.
    fn all(&mut self) {
        let folder = self.folder;
        let since = match self.whole {
            true => (i64::MIN, 0),
            false => self.since,
        };
        let mut lists = BTreeSet::new();
        let (mut loose, mut caches) = (Vec::new(), Vec::new());
        let all = files(folder, &mut |path, meta| {
            let changed = !is_before(meta, since);
            match path.strip_prefix(folder).ok().and_then(git::stored_as) {
                Some(Stored::Pack) => {
                    let list = path.with_extension("idx");
                    let named = list
                        .file_name()
                        .is_some_and(|name| self.names.contains(name));
                    // Where nobody knows when it was made it may be new.
                    let is_made = || made(path).is_none_or(|made| made >= since);
                    if named || changed && (self.all_packs || self.whole || is_made()) {
                        lists.insert(list);
                    }
                }
                Some(Stored::Loose(id)) if changed => {
                    loose.push((meta.len(), path.to_path_buf(), id));
                }
                Some(Stored::Cache) if changed => caches.push(path.to_path_buf()),
                _ => {}
            }
        });
        self.incomplete |= !all;
        // Git makes it anew when it wants it.
        caches.iter().for_each(|path| self.take(path, None));
        loose.sort();
        for (_, path, id) in loose {
            if self.is_written(&path) {
                continue;
            }
            match self.objects.verify_loose(&path, &id) {
                Ok(Kind::Commit) => self.commits.push(id),
                Ok(_) => {}
                Err(fault) => {
                    let reason = "git would take it for another object than it is";
                    self.refuse(&path, fault, reason);
                }
            }
        }
        for list in lists {
            if self.is_written(&list) || self.is_written(&list.with_extension("pack")) {
                continue;
            }
            match self.objects.verify_pack(&list) {
                Ok(commits) => self.commits.extend(commits),
                Err(fault) => {
                    let reason = "git would take objects of the pack for others than they are (`git index-pack` of \
                         the pack makes a true list)";
                    self.refuse(&list, fault, reason);
                }
            }
        }
    }

    /// Whether a program of another run has a file open for writing, and could make something else of it when it was
    /// compared: then it is taken away.
    fn is_written(&mut self, path: &Path) -> bool {
        let written = git::open_object(path).is_ok_and(|file| is_open_for_writing(&file.into()));
        if written {
            let reason =
                "another program has it open for writing, and could make another object of it";
            self.take(path, Some(reason));
        }
        written
    }

    /// Takes away what is not what it says.
    fn refuse(&mut self, path: &Path, fault: Fault, reason: &str) {
        match fault {
            // Without its list git knows nothing of a pack.
            Fault::Absent => {}
            Fault::TooMuch => self.incomplete = true,
            Fault::Broken => self.take(path, Some(reason)),
        }
    }

    /// Takes a file away: for good, or to a name beside it that means nothing to git.
    fn take(&mut self, path: &Path, reason: Option<&str>) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        let mut aside: OsString = name.to_owned();
        aside.push(".refused");
        let taken = open_without_links(parent).map_err(|_| Errno::NOENT);
        let taken = taken.and_then(|folder| match reason {
            Some(_) => renameat(&folder, name, &folder, &aside),
            None => unlinkat(&folder, name, AtFlags::empty()),
        });
        self.incomplete |= taken.is_err();
        if let (Ok(()), Some(reason)) = (taken, reason) {
            self.removed.push(Removed {
                rule: self.rule,
                path: path.to_path_buf(),
                reason: format!("{reason}; it was moved to {}", Text::from(aside)),
            });
        }
    }

    /// Files, as paths of the host, that new commits bring to the working tree of their repository or to one of `trees`,
    /// and that no program could make.
    fn brought<'t>(
        &mut self,
        rules: &Rules,
        trees: impl Iterator<Item = &'t PathBuf>,
    ) -> Vec<PathBuf> {
        let config = self.folder.with_file_name("config");
        let mut checkout = rules.checkout(&rules.site_on_host(&config), None);
        self.incomplete |= !checkout.reaches(trees);
        let mut files = Changed::new();
        for commit in &self.commits {
            let is_meant =
                |path: &[u8], brought: Brought<'_>| checkout.refused(path, brought).is_some();
            let before = || {
                let before = || Before::of(self.folder, self.since);
                self.before.get_or_init(before)
            };
            let known = !self.whole && before().has(commit);
            if !known && git::changed(self.objects, commit, &is_meant, &mut files).is_err() {
                self.incomplete = true;
            }
        }
        checkout.places_of(&files).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_before_is_no_later_and_what_changes_after_is_no_earlier() {
        let dir = tempfile::tempdir().unwrap();
        let changed = |name: String| {
            let file = dir.path().join(name);
            fs::write(&file, "x").unwrap();
            let first = file.metadata().unwrap().len();
            fs::write(&file, "xy").unwrap();
            let meta = file.metadata().unwrap();
            assert!(meta.len() > first);
            (meta.ctime(), meta.ctime_nsec())
        };
        for number in 0..100 {
            let before = changed(format!("before{number}"));
            let now = now();
            let after = changed(format!("after{number}"));
            assert!(
                before <= now && now <= after,
                "{before:?} {now:?} {after:?}"
            );
        }
    }
}
