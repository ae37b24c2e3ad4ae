//! What the rules say of a folder that is moved: what in it would become protected, what would be rid
//! of its protection, and whether each entry has to be looked at.

use super::asked::parts;
use super::{Name, Rules};
use crate::git;
use bailiwick_policy::ends;
use std::path::{Path, PathBuf};

impl Rules {
    /// The names, relative to a folder, that would become protected if a folder were moved from
    /// `from` to `to`, with the rules that protect them. `*` stands for any name. None of them may
    /// exist in it.
    pub(crate) fn entering(&self, from: &Path, to: &Path) -> Vec<(u32, PathBuf)> {
        let mut found = Vec::new();
        for (number, name) in self.every() {
            match name {
                Name::Whole(whole) => {
                    if let Ok(below) = whole.strip_prefix(to) {
                        found.push((*number, below.to_path_buf()));
                    }
                }
                Name::Anywhere { root, components } => {
                    let tails = |path: &Path| open_tails(path, root, components);
                    let before = tails(from);
                    found.extend(
                        tails(to)
                            .into_iter()
                            .filter(|tail| !before.contains(tail))
                            .map(|tail| (*number, tail)),
                    );
                }
                // What a pattern matches below is asked for each entry.
                Name::Glob { .. } => {}
            }
        }
        found
    }

    /// Whether a rule protects its names wherever they are.
    pub(crate) fn is_control(&self, rule: u32) -> bool {
        let mut names = self.every();
        names.any(|(number, name)| *number == rule && matches!(name, Name::Anywhere { .. }))
    }

    /// The rule that something in the folder `from` would be rid of under the name `to`. Control names
    /// are protected wherever they are; where they exist a mount keeps their folder in its place.
    pub(crate) fn leaving(&self, from: &Path, to: &Path) -> Option<u32> {
        let found = self.names.iter().find(|(number, name)| match name {
            Name::Whole(whole) => {
                whole != from && whole.starts_with(from) && !self.is_control(*number)
            }
            Name::Anywhere { .. } => false,
            Name::Glob { root, .. } => match (from.strip_prefix(root), to.strip_prefix(root)) {
                _ if root.starts_with(from) => true,
                (Ok(from), Ok(to)) => self
                    .globs_of(*number, root)
                    .any(|glob| glob.open().may_lose(from, to)),
                (from, _) => from.is_ok(),
            },
        });
        found.map(|(number, _)| *number)
    }

    /// The rule that protects a name below this path, if there is one. Git keeps no links of its
    /// own, and what they lead to would be its as well.
    pub(crate) fn above(&self, path: &Path) -> Option<u32> {
        if let Some(rule) = self.git(path).filter(|_| git::below_git(path).is_some()) {
            return Some(rule);
        }
        let found = self.every().find(|(number, name)| match name {
            Name::Whole(whole) => whole != path && whole.starts_with(path),
            Name::Anywhere { root, components } => !open_tails(path, root, components).is_empty(),
            // No pattern for every folder: that protects where a link leads as well.
            Name::Glob { root, .. } => match path.strip_prefix(root) {
                Ok(below) => self
                    .globs_of(**number, root)
                    .any(|glob| glob.open().is_open_at(below)),
                Err(_) => root.starts_with(path),
            },
        });
        found.map(|(number, _)| *number)
    }

    /// Whether relative paths of git's files in a folder that is moved could lead out of what may be written: it
    /// comes nearer to the top.
    pub(crate) fn may_lead_out(&self, from: &Path, to: &Path) -> bool {
        let depth = |path: &Path| {
            let above = self.host.iter().filter(|top| path.starts_with(top));
            let top = above.map(|top| top.components().count()).max();
            path.components().count() - top.unwrap_or(0)
        };
        self.git(to).is_some() && depth(to) < depth(from)
    }

    /// Whether everything in a folder that is moved has to be looked at: a pattern looks below its
    /// new place, it comes from where its names were not protected, or git reads other files
    /// there.
    pub(crate) fn must_look_through(&self, from: &Path, to: &Path) -> bool {
        if self.may_lose_pattern(from, to) {
            return true;
        }
        let of_git = git::below_git(from).is_some() || git::below_git(to).is_some();
        if of_git && self.git(to).is_some() {
            return true;
        }
        let comes_from_outside = |root: &Path| to.starts_with(root) && !from.starts_with(root);
        self.every().any(|(_, name)| match name {
            Name::Whole(_) => false,
            Name::Anywhere { root, .. } => comes_from_outside(root),
            Name::Glob { root, .. } => to.starts_with(root) || root.starts_with(to),
        })
    }
}

/// What is left of `components` after those with which `path` ends.
pub(super) fn open_tails(path: &Path, root: &Path, components: &[String]) -> Vec<PathBuf> {
    let Ok(below) = path.strip_prefix(root) else {
        return Vec::new();
    };
    let length = parts(below).len();
    let mut tails = Vec::new();
    for n in 1..components.len() {
        let (head, tail) = components.split_at(n);
        if ends(below, head).contains(&length) {
            tails.push(tail.iter().collect());
            if head.last().is_some_and(|last| last == "*") {
                // More names may stand for it.
                tails.push(
                    std::iter::once("*")
                        .chain(tail.iter().map(String::as_str))
                        .collect(),
                );
            }
        }
    }
    tails
}
