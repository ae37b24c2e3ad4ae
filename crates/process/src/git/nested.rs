//! Repositories of the user's below the folders that a sandbox may write. What the configuration of one leads to
//! may lie anywhere, so all of them are looked for.

use super::followed::{Followed, followed_at};
use super::ways::led_from;
use crate::setup::{raw, raw_list};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

/// So many folders are looked through.
const FOLDERS: usize = 100_000;

/// A working tree, or a repository without one, and what its configuration leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Nested {
    #[serde(with = "raw")]
    pub(crate) tree: PathBuf,
    pub(crate) followed: Vec<Followed>,
    /// Where its files lead.
    #[serde(with = "raw_list")]
    pub(crate) led: Vec<PathBuf>,
}

/// What is done with each entry of a walk: the folder, its name there, its type.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&Path, &OsStr, FileType);

/// Those that lead somewhere, the folders themselves among them. Each entry on the way is visited, of a git folder
/// those that git obeys by their names.
pub(crate) fn nested(folders: &[PathBuf], home: &Path, visit: Visit<'_>) -> Vec<Nested> {
    let mut found = Vec::new();
    let mut left = FOLDERS;
    for top in folders {
        let mut open = vec![top.clone()];
        while let Some(folder) = open.pop() {
            left = left.saturating_sub(1);
            if left == 0 {
                return found;
            }
            if looks_like_one(&folder, &mut open, visit) {
                found.extend(nested_at(&folder, folders, home));
            }
        }
    }
    found
}

/// The one at a folder; none where its configuration leads nowhere.
pub(crate) fn nested_at(tree: &Path, folders: &[PathBuf], home: &Path) -> Option<Nested> {
    let mut followed = followed_at(tree, folders, home);
    // What every repository has is known.
    followed.retain(|led| led.path.is_absolute());
    let (tree, led) = (tree.to_path_buf(), led_from(tree));
    (!followed.is_empty() || !led.is_empty()).then_some(Nested {
        tree,
        followed,
        led,
    })
}

/// The entries of a folder that can be read.
fn entries(folder: &Path) -> impl Iterator<Item = (OsString, FileType)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?)))
}

/// Whether a folder is a repository, or a working tree. Adds the folders in it to those that are looked through.
fn looks_like_one(folder: &Path, open: &mut Vec<PathBuf>, visit: Visit<'_>) -> bool {
    let (mut is_tree, mut parts) = (false, 0);
    for (name, kind) in entries(folder) {
        visit(folder, &name, kind);
        if name.eq_ignore_ascii_case(".git") {
            is_tree = true;
            let git = folder.join(name);
            for inner in [git.clone(), git.join("info"), git.join("hooks")] {
                entries(&inner).for_each(|(name, kind)| visit(&inner, &name, kind));
            }
            continue;
        }
        parts += usize::from(
            ["HEAD", "objects", "refs"]
                .iter()
                .any(|part| name == OsStr::new(part)),
        );
        if kind.is_dir() {
            open.push(folder.join(name));
        }
    }
    is_tree || parts == 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_lead_somewhere_are_found_wherever_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let put = |path: &str, text: &str| {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("a/b/.git/config", "[core]\nhooksPath = ../../hooks\n");
        put("plain/.git/config", "[core]\nbare = false\n");
        put("tree/.git", "gitdir: ../elsewhere\n");
        put("elsewhere/config", "[include]\npath = ../inc\n");
        for part in ["HEAD", "config", "objects/x", "refs/x"] {
            put(&format!("bare/{part}"), "[core]\nhooksPath = hk\n");
        }
        let mut seen = Vec::new();
        let visit = &mut |folder: &Path, name: &OsStr, _| seen.push(folder.join(name));
        let mut found = nested(std::slice::from_ref(&top), Path::new("/nowhere"), visit);
        for one in ["a", "a/b/.git", "plain/.git/config", "bare/objects"] {
            assert!(seen.contains(&top.join(one)), "{one}");
        }
        found.sort_by(|one, other| one.tree.cmp(&other.tree));
        let found: Vec<_> = found
            .into_iter()
            .map(|one| (one.tree, one.followed[0].path.clone()))
            .collect();
        let expected = [("a/b", "hooks"), ("bare", "bare/hk"), ("tree", "inc")];
        assert_eq!(
            found,
            expected.map(|(tree, path)| (top.join(tree), top.join(path)))
        );
    }
}
