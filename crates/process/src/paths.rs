//! Paths of the host with the links on the way: inside the sandbox the same spelling must lead to the
//! same file.

use crate::setup::raw;
use bailiwick_policy::{Step, Way};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A symbolic link of the host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Link {
    /// Where it is, without links.
    #[serde(with = "raw")]
    pub(crate) at: PathBuf,
    /// What it says.
    #[serde(with = "raw")]
    pub(crate) target: PathBuf,
}

impl From<Step> for Link {
    fn from(Step { at, target }: Step) -> Self {
        Self { at, target }
    }
}

/// Resolves an absolute path; `None` where it leads nowhere that the caller can see.
pub(crate) fn resolve(path: &Path) -> Option<Way> {
    Way::of(path)
}

/// The same for whom `root` is the root; so are the paths of what comes out.
pub(crate) fn resolve_in(root: &Path, path: &Path) -> Option<Way> {
    Way::below(root, path)
}

/// Whether a path has a name for whom `root` is the root, wherever a link of that name leads.
pub(crate) fn is_there(root: &Path, path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| resolve_in(root, folder));
    folder.zip(path.file_name()).is_some_and(|(folder, name)| {
        let here = below(root, &folder.real.join(name));
        here.symlink_metadata().is_ok()
    })
}

/// Whether an error says that nothing has a name; any other leaves it open.
pub(crate) fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Whether something has this name, or it cannot be found out: who decides what is protected takes it for there.
pub(crate) fn may_be_there(path: &Path) -> bool {
    let found = path.symlink_metadata();
    found.map_or_else(|error| !is_absent(&error), |_| true)
}

/// Where a path is that is absolute for whom `root` is the root.
pub(crate) fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Whether a path lies where every sandbox has a folder of its own for temporary files.
pub(crate) fn is_temporary(path: &Path) -> bool {
    path.starts_with("/tmp") || path.starts_with("/var/tmp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn for_whom_a_folder_is_the_root_links_lead_nowhere_above_it() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        symlink("/a", top.join("absolute")).unwrap();
        symlink("../../../a", top.join("a/relative")).unwrap();
        symlink("/nowhere", top.join("dangling")).unwrap();
        let real = |path: &str| resolve_in(&top, Path::new(path)).map(|found| found.real);
        assert_eq!(real("/absolute/b"), Some("/a/b".into()));
        assert_eq!(real("/a/relative/b"), Some("/a/b".into()));
        assert_eq!(real("/../../a"), Some("/a".into()));
        assert_eq!(real("/etc"), None);
        let there = |path: &str| is_there(&top, Path::new(path));
        assert!(there("/dangling") && there("/absolute/b"));
        assert!(!there("/etc") && !there("/dangling/x"));
    }
}
