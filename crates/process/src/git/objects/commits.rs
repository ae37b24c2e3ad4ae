//! What commits change: the files of each that none of its parents has so.

use super::{Fault, Kind, Objects, id_of};
use crate::git::repository::is_part;
use std::collections::{BTreeSet, HashSet};

/// Folders in folders are followed so far; git makes no path that is longer.
const DEPTH: usize = 1_000;
/// So many files are told.
const MOST: usize = 10_000;
/// The bits of a mode that say what kind of file it is, a folder's and a symbolic link's.
const KIND: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// Files that commits change, as paths in a working tree.
pub(crate) type Changed = BTreeSet<Vec<u8>>;

/// Which of the files that a commit changes are meant: asked with the path, and what is there.
pub(crate) type IsMeant<'a> = &'a dyn Fn(&[u8], Brought<'_>) -> bool;

/// What git would put at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brought<'a> {
    /// A file.
    File,
    /// A symbolic link that says this.
    Link(&'a [u8]),
    /// A symbolic link of which git has no object yet.
    Absent,
    /// A symbolic link whose object is none, or was not looked at: broken, too long, or with a NUL, where git ends the
    /// path.
    Odd,
}

impl<'a> From<&'a Result<Vec<u8>, Fault>> for Brought<'a> {
    /// A link with this target.
    fn from(target: &'a Result<Vec<u8>, Fault>) -> Self {
        match target {
            Ok(target) => Self::Link(target),
            Err(Fault::Absent) => Self::Absent,
            Err(Fault::Broken | Fault::TooMuch) => Self::Odd,
        }
    }
}

/// Adds what a commit changes or removes, as far as it is meant. Of a folder that has a `HEAD`, and in which the commit changes what
/// git would read of a repository, it adds the `HEAD`, whether or not the rest of a repository is there. A parent that is
/// not there (of a shallow repository) has nothing.
pub(crate) fn changed(
    objects: &Objects<'_>,
    commit: &[u8],
    is_meant: IsMeant<'_>,
    found: &mut Changed,
) -> Result<(), Fault> {
    let (tree, parents) = links_of(objects, commit)?;
    let mut olds = Vec::new();
    for parent in parents {
        match links_of(objects, &parent) {
            Ok((tree, _)) => olds.push(tree),
            Err(Fault::Absent) => {}
            Err(fault) => return Err(fault),
        }
    }
    if olds.contains(&tree) {
        return Ok(());
    }
    changed_tree(objects, (b"", &tree), &olds, is_meant, found)
}

/// The same of a tree, and the path of its folder with a slash behind it, against trees that were there before.
pub(crate) fn changed_tree(
    objects: &Objects<'_>,
    (path, tree): (&[u8], &[u8]),
    olds: &[Vec<u8>],
    is_meant: IsMeant<'_>,
    found: &mut Changed,
) -> Result<(), Fault> {
    let mut walk = Walk {
        objects,
        is_meant,
        found,
        heads: Vec::new(),
    };
    walk.folder(tree, olds, &mut path.to_vec(), 0)
}

/// The mode and the name of what a commit has at a path; none where it has nothing there.
pub(crate) fn entry_at(
    objects: &Objects<'_>,
    commit: &[u8],
    path: &[u8],
) -> Result<Option<(u32, Vec<u8>)>, Fault> {
    let (tree, _) = links_of(objects, commit)?;
    let mut found = (FOLDER, tree);
    for part in path.split(|&b| b == b'/') {
        if found.0 & KIND != FOLDER {
            return Ok(None);
        }
        let entries = entries_of(objects, &found.1)?;
        let Some(entry) = entries.into_iter().find(|entry| entry.name == part) else {
            return Ok(None);
        };
        found = (entry.mode, entry.id);
    }
    Ok(Some(found))
}

/// The tree of a commit, and its parents.
fn links_of(objects: &Objects<'_>, commit: &[u8]) -> Result<(Vec<u8>, Vec<Vec<u8>>), Fault> {
    let (kind, text) = objects.read(commit)?;
    if kind != Kind::Commit {
        return Err(Fault::Broken);
    }
    let mut lines = text.split(|&b| b == b'\n');
    let mut next = |head: &[u8]| {
        let line = lines.clone().next()?.strip_prefix(head)?;
        lines.next();
        Some(id_of(line).ok_or(Fault::Broken))
    };
    let tree = next(b"tree ").ok_or(Fault::Broken)??;
    let parents = std::iter::from_fn(|| next(b"parent ")).collect::<Result<_, _>>()?;
    Ok((tree, parents))
}

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    name: Vec<u8>,
    mode: u32,
    id: Vec<u8>,
}

fn entries(tree: &[u8], width: usize) -> Result<Vec<Entry>, Fault> {
    let mut entries = Vec::new();
    let mut rest = tree;
    while !rest.is_empty() {
        let end = rest.iter().position(|&b| b == 0).ok_or(Fault::Broken)?;
        let (head, after) = (&rest[..end], &rest[end + 1..]);
        let space = head.iter().position(|&b| b == b' ');
        let (mode, name) = head.split_at(space.ok_or(Fault::Broken)?);
        let mode = std::str::from_utf8(mode).ok();
        let mode = mode.and_then(|mode| u32::from_str_radix(mode, 8).ok());
        let (id, after) = after.split_at_checked(width).ok_or(Fault::Broken)?;
        entries.push(Entry {
            name: name[1..].to_vec(),
            mode: mode.ok_or(Fault::Broken)?,
            id: id.to_vec(),
        });
        rest = after;
    }
    Ok(entries)
}

struct Walk<'a> {
    objects: &'a Objects<'a>,
    is_meant: IsMeant<'a>,
    found: &'a mut Changed,
    /// The folders above with a `HEAD`, of which it was not added yet: how much of the path each is, and the name.
    heads: Vec<(usize, Vec<u8>)>,
}

/// The names of a tree without entries, which git knows without that it is stored: by SHA-1 and by SHA-256.
const EMPTY: [&[u8]; 2] = [
    b"\x4b\x82\x5d\xc6\x42\xcb\x6e\xb9\xa0\x60\xe5\x4b\xf8\xd6\x92\x88\xfb\xee\x49\x04",
    b"\x6e\xf1\x9b\x41\x22\x5c\x53\x69\xf1\xc1\x04\xd4\x5d\x8d\x85\xef\
      \xa9\xb0\x57\xb5\x3b\x14\xb4\xb9\xb9\x39\xdd\x74\xde\xcc\x53\x21",
];

fn entries_of(objects: &Objects<'_>, tree: &[u8]) -> Result<Vec<Entry>, Fault> {
    if EMPTY.contains(&tree) {
        return Ok(Vec::new());
    }
    let (kind, content) = objects.read(tree)?;
    match kind {
        Kind::Tree => entries(&content, tree.len()),
        _ => Err(Fault::Broken),
    }
}

impl Walk<'_> {
    /// What a folder has that none of the old ones has; `path` is the folder's, with a slash.
    fn folder(
        &mut self,
        tree: &[u8],
        olds: &[Vec<u8>],
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), Fault> {
        if depth > DEPTH {
            return Err(Fault::TooMuch);
        }
        let mut known = BTreeSet::new();
        let mut all: Vec<Vec<Entry>> = Vec::new();
        for old in olds {
            match entries_of(self.objects, old) {
                Ok(entries) => {
                    known.extend(entries.iter().cloned());
                    all.push(entries);
                }
                Err(Fault::Absent) => {}
                Err(fault) => return Err(fault),
            }
        }
        let entries = entries_of(self.objects, tree)?;
        self.removed(&all, &entries, path, depth)?;
        // At the top there is `.git`, which git looks for first.
        if !path.is_empty() {
            let mut names = entries.iter().map(|entry| &entry.name);
            let head = names.find(|name| name.eq_ignore_ascii_case(b"HEAD"));
            self.heads
                .extend(head.map(|name| (path.len(), name.clone())));
        }
        for entry in entries {
            if known.contains(&entry) {
                continue;
            }
            let length = path.len();
            path.extend_from_slice(&entry.name);
            if entry.mode & KIND == FOLDER {
                path.push(b'/');
                let first = Entry {
                    name: entry.name.clone(),
                    mode: 0,
                    id: Vec::new(),
                };
                let same = known
                    .range(first..)
                    .take_while(|old| old.name == entry.name);
                let olds = same.filter(|old| old.mode & KIND == FOLDER);
                let olds: Vec<Vec<u8>> = olds.map(|old| old.id.clone()).collect();
                self.folder(&entry.id, &olds, path, depth + 1)?;
            } else {
                let target = (entry.mode & KIND == LINK).then(|| self.objects.target(&entry.id));
                let brought = target.as_ref().map_or(Brought::File, Brought::from);
                if (self.is_meant)(path, brought) {
                    self.add(path.clone())?;
                }
                self.heads_over(path)?;
            }
            path.truncate(length);
        }
        self.heads.retain(|(top, _)| *top < path.len());
        Ok(())
    }

    /// Adds what each of the old folders had and the new one has not.
    fn removed(
        &mut self,
        olds: &[Vec<Entry>],
        new: &[Entry],
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), Fault> {
        let Some((first, others)) = olds.split_first() else {
            return Ok(());
        };
        let names = |entries: &[Entry]| -> HashSet<Vec<u8>> {
            entries.iter().map(|entry| entry.name.clone()).collect()
        };
        let (new, others) = (names(new), others.iter().map(|one| names(one)));
        let others: Vec<HashSet<Vec<u8>>> = others.collect();
        for entry in first {
            let stays = new.contains(&entry.name);
            if stays || !others.iter().all(|names| names.contains(&entry.name)) {
                continue;
            }
            let length = path.len();
            path.extend_from_slice(&entry.name);
            self.gone(entry, path, depth + 1)?;
            path.truncate(length);
        }
        Ok(())
    }

    /// Adds a file that is no more, or those of a folder.
    fn gone(&mut self, entry: &Entry, path: &mut Vec<u8>, depth: usize) -> Result<(), Fault> {
        if entry.mode & KIND != FOLDER {
            return match (self.is_meant)(path, Brought::File) {
                true => self.add(path.clone()),
                false => Ok(()),
            };
        }
        if depth > DEPTH {
            return Err(Fault::TooMuch);
        }
        path.push(b'/');
        let length = path.len();
        for inner in entries_of(self.objects, &entry.id)? {
            path.extend_from_slice(&inner.name);
            self.gone(&inner, path, depth + 1)?;
            path.truncate(length);
        }
        Ok(())
    }

    /// Adds the `HEAD` of each folder above that would read this file, if it were a repository.
    fn heads_over(&mut self, path: &[u8]) -> Result<(), Fault> {
        let reads = |(top, _): &mut (usize, Vec<u8>)| {
            let first = path[*top..].split(|&b| b == b'/').next();
            first.is_some_and(is_part)
        };
        let heads: Vec<_> = self.heads.extract_if(.., reads).collect();
        for (top, name) in heads {
            self.add([&path[..top], &name].concat())?;
        }
        Ok(())
    }

    fn add(&mut self, path: Vec<u8>) -> Result<(), Fault> {
        if self.found.len() >= MOST {
            return Err(Fault::TooMuch);
        }
        self.found.insert(path);
        Ok(())
    }
}
