//! The folders of objects that git reads in the user's repositories when a run has ended, wherever the run has led them:
//! a repository may have been moved and made anew, a `.git` file may lead to another, and `info/alternates` names more.

use crate::broker::Rules;
use crate::git::{self, GitFolder};
use crate::indexes::{Indexes, git_folders_of};
use crate::paths::below;
use crate::stored::Instant;
use std::collections::BTreeMap;
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

/// Those folders that lie where a sandbox may write. What a run has made for itself is not among them.
pub(crate) fn reached(
    rules: &Rules,
    indexes: &Indexes,
    since: Instant,
) -> BTreeMap<PathBuf, Packs> {
    let mut found = BTreeMap::new();
    let there = rules.find().git_folders.into_iter();
    let users = there.filter(|GitFolder { path, tree }| {
        let tree_is = tree.as_ref().is_some_and(|tree| indexes.had(rules, tree));
        tree_is || !indexes.is_new(rules, &path.join("objects"), since)
    });
    let users = users.map(|folder| folder.path);
    let mut open: Vec<(PathBuf, Packs)> = Vec::new();
    for folder in users.chain(indexes.began().cloned()) {
        let own = git_folders_of(&folder).into_iter();
        open.extend(own.map(|own| {
            let config = own.join("config");
            let shared = rules.site_on_host(&config).shared_folder().join("objects");
            (shared, Packs::Named)
        }));
    }
    while let Some((folder, packs)) = open.pop() {
        let is_kept = rules.git(&below(rules.root(), &folder)).is_some();
        if !is_kept || !folder.is_dir() || found.contains_key(&folder) {
            continue;
        }
        let others = git::alternates_of(&folder, Path::new("/")).into_iter();
        open.extend(others.map(|other| (git::plain(&other), Packs::Changed)));
        found.insert(folder, packs);
    }
    found
}
