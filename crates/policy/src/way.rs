//! Where a path leads, and through which links. The kernel's own answer (realpath(3)) names the end
//! alone; who may have chosen that end is told by the links on the way.

use crate::lists::is_in;
use rustix::io::Errno;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
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
/// costs one call, unless it is known ([`remembering`]).
pub(crate) fn follow(root: &Path, path: &Path) -> Result<Way, Broken> {
    let elsewhere = root != Path::new("/");
    let mut real = match elsewhere {
        true => PathBuf::from("/"),
        false => known_on(path),
    };
    let known = match real.as_os_str().len() {
        1 => 0,
        _ => real.components().count(),
    };
    let mut given = path.components().skip(known);
    // What links on the way say, before the rest of the path.
    let mut todo: VecDeque<OsString> = VecDeque::new();
    let mut links = Vec::new();
    let mut folder = true;
    loop {
        let part: Cow<'_, OsStr> = match todo.pop_front() {
            Some(part) => part.into(),
            None => match given.next() {
                Some(Component::Normal(part)) => part.into(),
                Some(Component::ParentDir) => OsStr::new("..").into(),
                Some(_) => continue,
                None => break,
            },
        };
        if &*part == OsStr::new("..") {
            real.pop();
            folder = true;
            continue;
        }
        real.push(&part);
        if !elsewhere && !links.is_empty() && is_known(&real) {
            folder = true;
            continue;
        }
        let here: Cow<'_, Path> = match elsewhere {
            true => root.join(real.strip_prefix("/").unwrap_or(&real)).into(),
            false => (&real).into(),
        };
        let kind = fs::symlink_metadata(&here).map(|meta| meta.file_type());
        let target = match &kind {
            Ok(kind) if !kind.is_symlink() => {
                folder = kind.is_dir();
                if folder && !elsewhere {
                    remember(&real);
                }
                continue;
            }
            Ok(_) if links.len() == LINKS => Err(Errno::LOOP.into()),
            Ok(_) => fs::read_link(&here),
            Err(_) => kind.map(|_| PathBuf::new()),
        };
        let target = match target {
            Ok(target) => target,
            Err(why) => {
                real.pop();
                let rest = std::iter::once(part.into_owned()).chain(todo);
                let rest = rest.chain(given.map(|part| part.as_os_str().to_owned()));
                let rest = rest.collect();
                return Err(Broken { real, rest, why });
            }
        };
        let at = real.clone();
        match target.is_absolute() {
            true => real = PathBuf::from("/"),
            false => drop(real.pop()),
        }
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            todo.push_front(part);
        }
        folder = true;
        links.push(Step { at, target });
    }
    Ok(Way {
        real,
        links,
        folder,
    })
}

thread_local! {
    /// Folders that were found not to be links, while something remembers them.
    static KNOWN: RefCell<Option<Vec<PathBuf>>> = const { RefCell::new(None) };
}

/// The most folders that are remembered.
const MOST: usize = 64;

/// As long as this is there, this thread asks once for each folder whether it is a link. It is for work of a moment,
/// a policy or a plan that is made, whose answers are as old as its first question anyway when they are used; what
/// is not there is asked for each time.
#[must_use]
#[derive(Debug)]
pub struct Remembering {
    /// Whether nobody remembered before.
    outermost: bool,
}

/// See [`Remembering`].
pub fn remembering() -> Remembering {
    KNOWN.with_borrow_mut(|known| {
        let outermost = known.is_none();
        known.get_or_insert_default();
        Remembering { outermost }
    })
}

impl Drop for Remembering {
    fn drop(&mut self) {
        if self.outermost {
            KNOWN.set(None);
        }
    }
}

/// The longest known folder that a path begins with.
fn known_on(path: &Path) -> PathBuf {
    let path = path.as_os_str().as_bytes();
    KNOWN.with_borrow(|known| {
        let known = known.iter().flatten();
        let on = known.filter(|folder| is_in(path, folder.as_os_str().as_bytes()));
        let longest = on.max_by_key(|folder| folder.as_os_str().len());
        longest.map_or_else(|| PathBuf::from("/"), PathBuf::clone)
    })
}

fn is_known(folder: &Path) -> bool {
    let folder = folder.as_os_str();
    KNOWN.with_borrow(|known| known.iter().flatten().any(|one| one.as_os_str() == folder))
}

fn remember(folder: &Path) {
    KNOWN.with_borrow_mut(|known| {
        if let Some(known) = known.as_mut().filter(|known| known.len() < MOST) {
            known.push(folder.to_path_buf());
        }
    });
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

    #[test]
    fn what_is_remembered_is_a_folder_and_for_a_moment() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let real = |path: &Path| Way::of(path).map(|way| way.real);
        for folder in ["a/b", "elsewhere/b"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        symlink("a", top.join("link")).unwrap();
        fs::write(top.join("file"), "").unwrap();

        let remembered = remembering();
        {
            let _within = remembering();
            assert_eq!(real(&top.join("a/b")), Some(top.join("a/b")));
        }
        for path in ["link/b", "a/b/../b/.", "link/../link/b"] {
            assert_eq!(real(&top.join(path)), Some(top.join("a/b")), "{path}");
        }
        assert_eq!(real(&top.join("file")), Some(top.join("file")));
        assert_eq!(real(&top.join("new")), None);

        // A name that begins as a known one does, what is made meanwhile, and what was no folder.
        symlink("elsewhere", top.join("a/bb")).unwrap();
        assert_eq!(real(&top.join("a/bb")), None);
        fs::rename(top.join("link"), top.join("old")).unwrap();
        symlink("elsewhere", top.join("link")).unwrap();
        fs::create_dir(top.join("new")).unwrap();
        fs::remove_file(top.join("file")).unwrap();
        symlink("a", top.join("file")).unwrap();
        for (path, leads) in [("link/b", "elsewhere/b"), ("new", "new"), ("file/b", "a/b")] {
            assert_eq!(real(&top.join(path)), Some(top.join(leads)), "{path}");
        }

        fs::rename(top.join("a"), top.join("gone")).unwrap();
        symlink("elsewhere", top.join("a")).unwrap();
        drop(remembered);
        assert_eq!(real(&top.join("a/b")), Some(top.join("elsewhere/b")));
    }

    #[test]
    fn a_way_that_ends_early_says_where() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        symlink("nothing/x", top.join("link")).unwrap();
        let broken = follow(Path::new("/"), &top.join("link/y/../z"))
            .err()
            .unwrap();
        assert_eq!(broken.real, top);
        assert_eq!(broken.rest, Path::new("nothing/x/y/../z"));
        assert_eq!(Way::below(&top, Path::new("link")), None);
        assert_eq!(
            Way::below(&top, Path::new("/.")).unwrap().real,
            Path::new("/")
        );
    }
}
