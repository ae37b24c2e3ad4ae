//! Where a path leads, and through which links. The kernel's own answer (realpath(3)) names the end
//! alone; who may have chosen that end is told by the links on the way.

use rustix::io::Errno;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

/// As many links as the kernel follows on one way (path_resolution(7)).
pub const LINKS: usize = 40;

/// A symbolic link on a way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Where it is, without links.
    pub at: PathBuf,
    /// What it says.
    pub target: PathBuf,
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// The path without links.
    pub real: PathBuf,
    /// The links on the way, in the order in which they are followed.
    pub links: Vec<Step>,
    /// Whether it leads to a folder.
    pub folder: bool,
}

impl Way {
    /// Follows an absolute path; `None` where it leads nowhere that the caller can see.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        Self::below(Path::new("/"), path)
    }

    /// The same for whom `root` is the root; so are the paths of what comes out.
    #[must_use]
    pub fn below(root: &Path, path: &Path) -> Option<Self> {
        follow(root, path).ok()
    }
}

/// A way that ends before the path does.
pub(crate) struct Broken {
    /// How far it leads, without links.
    pub(crate) real: PathBuf,
    /// What is left of the path there. Its first part cannot be seen, or is a link too many.
    pub(crate) rest: PathBuf,
    pub(crate) why: io::Error,
}

/// Follows an absolute path for whom `root` is the root. A start does this some hundred times: each part of a path
/// costs one call.
pub(crate) fn follow(root: &Path, path: &Path) -> Result<Way, Broken> {
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
        let here: Cow<'_, Path> = match elsewhere {
            true => root.join(next.strip_prefix("/").unwrap_or(&next)).into(),
            false => (&next).into(),
        };
        let broken = |why, real, todo: VecDeque<OsString>| {
            let rest = std::iter::once(part.clone()).chain(todo).collect();
            Broken { real, rest, why }
        };
        let kind = match fs::symlink_metadata(&here) {
            Ok(meta) => meta.file_type(),
            Err(why) => return Err(broken(why, real, todo)),
        };
        folder = kind.is_dir();
        if !kind.is_symlink() {
            real = next;
            continue;
        }
        if links.len() == LINKS {
            return Err(broken(Errno::LOOP.into(), real, todo));
        }
        let target = match fs::read_link(&here) {
            Ok(target) => target,
            Err(why) => return Err(broken(why, real, todo)),
        };
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            todo.push_front(part);
        }
        folder = true;
        links.push(Step { at: next, target });
    }
    Ok(Way {
        real,
        links,
        folder,
    })
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

        let found = Way::of(&top.join("one/two/file")).unwrap();
        assert_eq!(found.real, top.join("a/b/file"));
        assert!(!found.folder);
        let at: Vec<_> = found.links.iter().map(|l| l.at.clone()).collect();
        assert_eq!(at, [top.join("one"), top.join("a/two"), top.join("one")]);
        assert_eq!(
            Way::of(&top.join("one/two/..")).unwrap().real,
            top.join("a")
        );
        assert!(Way::of(&top.join("loop")).is_none());
        assert!(Way::of(&top.join("nothing")).is_none());
    }
}
