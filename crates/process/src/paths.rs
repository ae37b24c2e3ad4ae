//! Resolves a path of the host the way the kernel does, but keeps the links that it went
//! through: inside the sandbox the same spelling must lead to the same file.

use crate::setup::raw;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

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

/// Where a path leads.
#[derive(Debug)]
pub(crate) struct Resolved {
    /// The path without links.
    pub(crate) real: PathBuf,
    /// The links on the way.
    pub(crate) links: Vec<Link>,
    /// Whether it is a folder.
    pub(crate) folder: bool,
}

/// Resolves an absolute path; `None` where it leads nowhere that the caller can see.
pub(crate) fn resolve(path: &Path) -> Option<Resolved> {
    resolve_in(Path::new("/"), path)
}

/// The same for whom `root` is the root; so are the paths of what comes out.
pub(crate) fn resolve_in(root: &Path, path: &Path) -> Option<Resolved> {
    const LINKS: usize = 40;
    let elsewhere = root != Path::new("/");
    let mut todo: VecDeque<OsString> = parts(path).collect();
    let mut real = PathBuf::from("/");
    let mut links = Vec::new();
    let mut folder = true;
    while let Some(part) = todo.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        // At every start this is done some hundred times, and for hardly any other root.
        let here: Cow<'_, Path> = match elsewhere {
            true => below(root, &next).into(),
            false => (&next).into(),
        };
        let kind = fs::symlink_metadata(&here).ok()?.file_type();
        folder = kind.is_dir();
        if !kind.is_symlink() {
            real = next;
            continue;
        }
        if links.len() == LINKS {
            return None;
        }
        let target = fs::read_link(&here).ok()?;
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            todo.push_front(part);
        }
        folder = true;
        links.push(Link { at: next, target });
    }
    Some(Resolved {
        real,
        links,
        folder,
    })
}

/// Whether a path has a name for whom `root` is the root, wherever a link of that name leads.
pub(crate) fn is_there(root: &Path, path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| resolve_in(root, folder));
    folder.zip(path.file_name()).is_some_and(|(folder, name)| {
        let here = below(root, &folder.real.join(name));
        here.symlink_metadata().is_ok()
    })
}

/// Where a path is that is absolute for whom `root` is the root.
pub(crate) fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|c| match c {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn it_leads_where_the_kernel_leads_and_names_the_links() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("a/b/file"), "").unwrap();
        symlink("a", top.join("one")).unwrap();
        symlink(top.join("one/b"), top.join("a/two")).unwrap();
        symlink("loop", top.join("loop")).unwrap();

        let found = resolve(&top.join("one/two/file")).unwrap();
        assert_eq!(found.real, top.join("a/b/file"));
        assert!(!found.folder);
        let at: Vec<_> = found.links.iter().map(|l| l.at.clone()).collect();
        assert_eq!(at, [top.join("one"), top.join("a/two"), top.join("one")]);
        assert_eq!(
            resolve(&top.join("one/two/..")).unwrap().real,
            top.join("a")
        );
        assert!(resolve(&top.join("loop")).is_none());
        assert!(resolve(&top.join("nothing")).is_none());
    }

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
