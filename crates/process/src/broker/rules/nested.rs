//! Repositories of the user's in folders of a working tree. Nobody looks for them when a run begins, which would
//! take long in a large one; what the configuration of one leads to is known before the first act in its folder
//! is decided.

use super::{Name, Rules};
use crate::git;
use crate::paths::below;
use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// So many folders are remembered.
const MOST: usize = 100_000;

/// What is known of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Nested {
    /// Folders that were looked at, with all above them.
    seen: RefCell<HashSet<PathBuf>>,
    /// Working trees whose configuration leads to other files.
    trees: Vec<PathBuf>,
}

/// A working tree in a folder, and what its configuration leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unknown {
    tree: PathBuf,
    followed: Vec<git::Followed>,
}

impl Rules {
    /// Protects what git obeys as well, by the rule that protects its hooks. What it obeys in every repository is
    /// protected everywhere where the name begins with a dot; another one would stand for too much, and counts in
    /// the folders that are repositories.
    pub(super) fn follow(&mut self, rule: u32, followed: Vec<git::Followed>) {
        for led in &followed {
            let parts = led.path.components().map(|part| part.as_os_str());
            let parts = parts.filter(|part| *part != ".");
            let parts: Option<Vec<String>> =
                parts.map(|part| part.to_str().map(str::to_owned)).collect();
            match parts {
                _ if led.path.is_absolute() => {
                    self.names.push((rule, Name::Whole(led.path.clone())));
                }
                Some(components)
                    if components.first().is_some_and(|name| name.starts_with('.')) =>
                {
                    self.names.extend(self.host.iter().map(|root| {
                        let (root, components) = (root.clone(), components.clone());
                        (rule, Name::Anywhere { root, components })
                    }));
                }
                _ => self.everywhere.push(led.path.clone()),
            }
        }
        self.followed.extend(followed);
    }

    /// Whether a folder would become a repository of which git obeys a file that is there already.
    pub(crate) fn would_be_obeyed(&self, git: &Path) -> bool {
        let named = git
            .file_name()
            .is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        let tree = git.parent().filter(|_| named && self.git.is_some());
        tree.is_some_and(|tree| {
            let mut files = self.everywhere.iter();
            files.any(|file| tree.join(file).symlink_metadata().is_ok())
        })
    }

    /// A working tree around `path` whose configuration was not known.
    pub(crate) fn unknown_around(&self, path: &Path) -> Option<Unknown> {
        self.git?;
        let mut seen = self.nested.seen.borrow_mut();
        if seen.len() > MOST {
            seen.clear();
        }
        for folder in path.ancestors().skip(1) {
            // Those that may be written themselves were looked at when the run began.
            let inside = |top: &PathBuf| folder != top && folder.starts_with(top);
            if seen.contains(folder) || !self.host.iter().any(inside) {
                return None;
            }
            if folder.join(".git").symlink_metadata().is_ok() {
                let home = below(self.root(), &self.home);
                let mut followed = git::followed_at(folder, &self.host, &home);
                followed.retain(|led| led.path.is_absolute());
                followed.extend(self.everywhere.iter().map(|path| git::Followed {
                    path: folder.join(path),
                    by: "core.hookspath".to_owned(),
                }));
                if !followed.is_empty() && !self.nested.trees.iter().any(|tree| tree == folder) {
                    let tree = folder.to_path_buf();
                    return Some(Unknown { tree, followed });
                }
            }
            seen.insert(folder.to_path_buf());
        }
        None
    }

    /// Protects what the configuration of a working tree leads to.
    pub(crate) fn know(&mut self, Unknown { tree, followed }: Unknown) {
        if let Some(rule) = self.git {
            self.follow(rule, followed);
            self.nested.trees.push(tree);
        }
    }

    /// Folders have other names now: none counts as looked at.
    pub(crate) fn forget_folders(&self) {
        self.nested.seen.borrow_mut().clear();
    }

    /// Whether something must stay where it is, because git's configuration leads to a file in it, or because it
    /// is the git folder that has such a configuration.
    pub(crate) fn is_led_through(&self, path: &Path) -> bool {
        let leads = self
            .followed
            .iter()
            .any(|led| led.path != path && led.path.starts_with(path));
        let git = path
            .file_name()
            .is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        leads
            || git
                && path
                    .parent()
                    .is_some_and(|tree| self.nested.trees.iter().any(|known| known == tree))
    }
}
