//! What commits change: the files of each that none of its parents has so.

use super::{Fault, Kind, Objects, id_of};
use crate::git::repository::is_part;
use std::collections::BTreeSet;

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

/// Which of the files that a commit changes are meant: asked with the path, and of a link with what it says.
pub(crate) type IsMeant<'a> = &'a dyn Fn(&[u8], Option<&[u8]>) -> bool;

/// Adds what a commit changes, as far as it is meant, and the `HEAD` of each folder in which it changes what git would
/// read, if the folder is a repository then: what is missing may lie in the working tree. A parent that is not there (of
/// a shallow repository) has nothing.
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
    let mut walk = Walk {
        objects,
        is_meant,
        found,
        heads: Vec::new(),
    };
    walk.folder(&tree, &olds, &mut Vec::new(), 0)
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
    /// The folders above with a `HEAD`: how much of the path each is, and the name.
    heads: Vec<(usize, Vec<u8>)>,
}

impl Walk<'_> {
    fn entries_of(&self, tree: &[u8]) -> Result<Vec<Entry>, Fault> {
        let (kind, content) = self.objects.read(tree)?;
        match kind {
            Kind::Tree => entries(&content, tree.len()),
            _ => Err(Fault::Broken),
        }
    }

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
        for old in olds {
            match self.entries_of(old) {
                Ok(entries) => known.extend(entries),
                Err(Fault::Absent) => {}
                Err(fault) => return Err(fault),
            }
        }
        let entries = self.entries_of(tree)?;
        let heads = self.heads.len();
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
                let target = match entry.mode & KIND == LINK {
                    true => Some(self.target_of(&entry.id)?),
                    false => None,
                };
                if (self.is_meant)(path, target.as_deref()) {
                    self.add(path.clone())?;
                }
                for head in self.heads_over(path) {
                    self.add(head)?;
                }
            }
            path.truncate(length);
        }
        self.heads.truncate(heads);
        Ok(())
    }

    /// The `HEAD` of each folder above that would read this file, if it were a repository.
    fn heads_over(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let reads = |(top, _): &&(usize, Vec<u8>)| {
            let first = path[*top..].split(|&b| b == b'/').next();
            first.is_some_and(is_part)
        };
        let heads = self.heads.iter().filter(reads);
        heads
            .map(|(top, name)| [&path[..*top], name].concat())
            .collect()
    }

    fn add(&mut self, path: Vec<u8>) -> Result<(), Fault> {
        if self.found.len() >= MOST {
            return Err(Fault::TooMuch);
        }
        self.found.insert(path);
        Ok(())
    }

    /// What a link says; nothing where git has no object of it, and cannot make it.
    fn target_of(&self, link: &[u8]) -> Result<Vec<u8>, Fault> {
        match self.objects.read(link) {
            Ok((_, target)) => Ok(target),
            Err(Fault::Absent) => Ok(Vec::new()),
            Err(fault) => Err(fault),
        }
    }
}
