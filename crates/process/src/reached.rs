//! The folders of objects that git reads in the user's repositories when a run has ended, wherever the run has led them:
//! a repository may have been moved and made anew, a `.git` file may lead to another, and `info/alternates` names more.

use crate::broker::Rules;
use crate::git::{self, GitFolder};
use crate::indexes::{Indexes, git_folders_of};
use crate::paths::below;
use crate::stored::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// How packs of a folder of objects are told from those that were there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packs {
    /// By their names, and by when they were made: git sets the times of a large one whenever it finds in it what it was
    /// to store.
    Named,
    /// By their times of change: what was stored there was not told.
    Changed,
}

/// A folder of objects that git reads.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) packs: Packs,
    /// The working trees into which git checks out what is in it.
    pub(crate) trees: BTreeSet<PathBuf>,
}

/// Those folders that lie where a sandbox may write. What a run has made for itself is not among them.
pub(crate) fn reached(
    rules: &Rules,
    indexes: &Indexes,
    since: Instant,
) -> BTreeMap<PathBuf, Reached> {
    let mut found: BTreeMap<PathBuf, Reached> = BTreeMap::new();
    let there = rules.find().git_folders.into_iter();
    let users = there.filter(|GitFolder { path, tree }| {
        let tree_is = tree.as_ref().is_some_and(|tree| indexes.had(rules, tree));
        tree_is || !indexes.is_new(rules, &path.join("objects"), since)
    });
    let began = indexes.began().cloned();
    let began = began.map(|path| GitFolder { path, tree: None });
    let mut open: Vec<(PathBuf, Packs, Option<PathBuf>)> = Vec::new();
    for GitFolder { path: folder, tree } in users.chain(began) {
        let own = git_folders_of(&folder).into_iter();
        open.extend(own.map(|own| {
            let config = own.join("config");
            let shared = rules.site_on_host(&config).shared_folder().join("objects");
            let index = own.join("index");
            let named = git::tree_of_index(&rules.site_on_host(&index));
            let tree = named.or_else(|| tree.clone().filter(|_| own == folder));
            (shared, Packs::Named, tree)
        }));
    }
    while let Some((folder, packs, tree)) = open.pop() {
        let is_kept = rules.git(&below(rules.root(), &folder)).is_some();
        if !is_kept || !folder.is_dir() {
            continue;
        }
        let is_known = found.contains_key(&folder);
        let trees = BTreeSet::new();
        let known = found.entry(folder.clone());
        let known = known.or_insert(Reached { packs, trees });
        let is_new_tree = tree.clone().is_some_and(|tree| known.trees.insert(tree));
        if is_new_tree || !is_known {
            let others = git::alternates_of(&folder, Path::new("/")).into_iter();
            open.extend(others.map(|other| (git::plain(&other), Packs::Changed, tree.clone())));
        }
    }
    found
}
