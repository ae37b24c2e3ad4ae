//! Repositories of the user's in folders of a working tree. Nobody looks for them when a run begins, which would
//! take long in a large one: the supervisor does before the first act that names a file is decided, and this looks
//! again in each folder, for those that somebody makes meanwhile.

use super::aliases::{Alias, Found};
use super::host::CLOSED;
use super::{Name, Rules};
use crate::git;
use crate::paths::{below, may_be_there};
use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// So many folders are remembered.
const MOST: usize = 100_000;

/// What is known of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Whether those that were there before the first act are known.
    told: bool,
    /// Folders that were looked at, with all above them: somebody may have made a repository since.
    seen: RefCell<HashSet<PathBuf>>,
    /// Working trees whose configuration leads to other files.
    trees: Vec<PathBuf>,
    /// Where files of git lead that were there before.
    led: Vec<PathBuf>,
    /// Other names of protected files.
    pub(super) aliases: Vec<Alias>,
    /// Folders of which nothing is known.
    closed: Vec<PathBuf>,
    /// Beginnings of addresses that the user's own configuration has git take for folders.
    pub(super) rewritten: Vec<Vec<u8>>,
    /// The folders on all such ways, as the policy writes paths.
    pub(super) ways: git::Ways,
}

/// Why nothing can be decided in a folder yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Nobody has looked for repositories.
    All,
    /// One that was not known.
    One(git::Nested),
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
                    self.protect_once(rule, Name::Whole(led.path.clone()));
                }
                Some(components)
                    if components.first().is_some_and(|name| name.starts_with('.')) =>
                {
                    for root in self.host.clone() {
                        let components = components.clone();
                        self.protect_once(rule, Name::Anywhere { root, components });
                    }
                }
                _ => self.everywhere.push(led.path.clone()),
            }
        }
        self.followed.extend(followed);
    }

    /// Adds a name that may be known already: every act is asked about under all of them.
    pub(super) fn protect_once(&mut self, rule: u32, name: Name) {
        let entry = (rule, name);
        if !self.names.contains(&entry) {
            self.names.push(entry);
        }
    }

    /// The same of many.
    pub(super) fn protect_all(&mut self, names: Vec<(u32, Name)>) {
        let known: HashSet<&(u32, Name)> = self.names.iter().collect();
        let mut new: Vec<_> = names;
        new.retain(|entry| !known.contains(entry));
        new.sort();
        new.dedup();
        self.names.extend(new);
    }

    /// Whether a folder would become a repository of which git obeys a file that is there already.
    pub(crate) fn would_be_obeyed(&self, git: &Path) -> bool {
        let tree = git.parent().filter(|_| is_git(git) && self.git.is_some());
        tree.is_some_and(|tree| {
            let mut files = self.everywhere.iter();
            files.any(|file| may_be_there(&tree.join(file)))
        })
    }

    /// Whether the supervisor's answer is still to come.
    pub(crate) fn knows_nothing(&self) -> bool {
        !self.nested.told && !self.host.is_empty()
    }

    /// A working tree around `path` whose configuration was not known.
    pub(crate) fn unknown_around(&self, path: &Path) -> Option<Unknown> {
        if !self.nested.told && self.host.iter().any(|top| path.starts_with(top)) {
            return Some(Unknown::All);
        }
        self.git?;
        let mut seen = self.nested.seen.borrow_mut();
        if seen.len() > MOST {
            seen.clear();
        }
        // What is about to become a repository has to be looked at again.
        let above = match is_git(path) {
            true => path.parent().inspect(|tree| _ = seen.remove(*tree)),
            false => Some(path),
        };
        for folder in above.into_iter().flat_map(|path| path.ancestors().skip(1)) {
            // Those that may be written themselves were looked at when the run began.
            let inside = |top: &PathBuf| folder != top && folder.starts_with(top);
            if seen.contains(folder) || !self.host.iter().any(inside) {
                return None;
            }
            if may_be_there(&folder.join(".git")) {
                let home = below(self.root(), &self.home);
                let found =
                    git::nested_at(folder, &self.host, &home, &git::Configurations::default());
                let mut followed = found.map(|one| one.followed).unwrap_or_default();
                followed.extend(self.everywhere.iter().map(|path| git::Followed {
                    path: folder.join(path),
                    by: "the user's own configuration".to_owned(),
                    closed: false,
                }));
                let tree = folder.to_path_buf();
                // It may be written still, or be found when the folder is open again.
                if followed.is_empty() && !folder.join(".git").is_dir() {
                    continue;
                }
                if !followed.is_empty() && !self.nested.trees.contains(&tree) {
                    let led = Vec::new();
                    return Some(Unknown::One(git::Nested {
                        tree,
                        followed,
                        led,
                    }));
                }
            }
            seen.insert(folder.to_path_buf());
        }
        None
    }

    /// Protects what the configuration of a repository in a folder leads to.
    pub(crate) fn know(&mut self, one: git::Nested) {
        if let Some(rule) = self.git {
            if !one.followed.is_empty() {
                self.nested.trees.push(one.tree);
            }
            self.follow(rule, one.followed);
            for place in &one.led {
                self.nested.ways.add(&self.of_policy(place));
            }
            self.nested.led.extend(one.led);
        }
    }

    /// The same of all that the supervisor has found; the paths are the policy's.
    pub(crate) fn know_all(&mut self, found: Found) {
        self.nested.told = true;
        self.nested.rewritten = found.rewritten;
        let root = self.root().to_path_buf();
        let aliases = found.aliases.into_iter();
        self.know_aliases(aliases.map(|alias| alias.below(&root)).collect());
        let closed = found.closed.iter();
        self.nested.closed = closed.map(|one| below(&root, &one.path)).collect();
        let rule = self.rule_of_closed().unwrap_or_default();
        let names = self.nested.closed.iter();
        self.protect_all(
            names
                .map(|path| (rule, Name::Whole(path.clone())))
                .collect(),
        );
        for mut one in found.repositories {
            one.tree = below(&root, &one.tree);
            for led in &mut one.followed {
                led.path = below(&root, &led.path);
            }
            for place in &mut one.led {
                *place = below(&root, place);
            }
            self.know(one);
        }
    }

    /// The rule that protects folders of which nothing is known; none where nothing would be looked for in them.
    pub(super) fn rule_of_closed(&self) -> Option<u32> {
        let table = (!self.matcher().is_empty()).then_some(CLOSED);
        let names = || self.names.first().map(|(rule, _)| *rule);
        self.git
            .or(table)
            .or_else(names)
            .or_else(|| self.first_denied())
    }

    /// The folder around a path of which nothing is known.
    pub(super) fn closed_around(&self, path: &Path) -> Option<&Path> {
        let mut closed = self.nested.closed.iter();
        closed
            .find(|folder| path.starts_with(folder))
            .map(PathBuf::as_path)
    }

    /// The rule by which a folder keeps its name, because nothing is known of one in it.
    pub(crate) fn holds_closed(&self, folder: &Path) -> Option<u32> {
        let mut closed = self.nested.closed.iter();
        let holds = closed.any(|closed| closed.starts_with(folder));
        holds.then(|| self.rule_of_closed())?
    }

    /// Folders have other names now: none counts as looked at.
    pub(crate) fn forget_folders(&self) {
        self.nested.seen.borrow_mut().clear();
    }

    /// What of the host's names a path, or a folder above it, so that it is protected.
    pub(crate) fn called_by(&self, path: &Path) -> Option<&str> {
        let followed = self.followed.iter();
        let found = followed.filter(|led| path.starts_with(&led.path));
        let nearest = found.max_by_key(|led| led.path.as_os_str().len());
        nearest.map(|led| led.by.as_str())
    }

    /// Whether something must stay where it is, because git's configuration leads to a file in it, or because it
    /// is the git folder that has such a configuration.
    pub(crate) fn is_led_through(&self, path: &Path) -> bool {
        let led = self.followed.iter().map(|led| &led.path);
        let led = led.chain(&self.nested.led);
        let mut through = led.filter(|led| led.as_path() != path);
        let git = is_git(path);
        let top = path.parent().filter(|_| git).unwrap_or(path);
        // A relative path would lead elsewhere from another folder.
        let leads_from = |tree: &PathBuf| match git {
            true => tree == top,
            false => tree.starts_with(top),
        };
        through.any(|led| led.starts_with(path)) || self.nested.trees.iter().any(leads_from)
    }
}

/// Whether a path has the name of a git folder, or of a file that leads to one.
fn is_git(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case(".git"))
}
