//! Finds what a glob of the policy means in a tree, before anything is started. Links are not
//! followed but where a pattern denies, and the walk has a budget: a policy that cannot be applied
//! completely is refused, never applied in part.

mod heads;

pub(crate) use self::heads::Heads;
use crate::closed::{self, Closed};
use crate::paths::is_absent;
use bailiwick_policy::PathGlob;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How much of a tree is looked at for one glob.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    /// Entries of folders.
    pub(crate) entries: usize,
    /// Wall-clock time.
    pub(crate) time: Duration,
}

impl Budget {
    /// What a start may cost at the most. The time is wide because a cold disk is slow and a
    /// refusal must not depend on the weather; the entries bound the ordinary case.
    pub(crate) const START: Self = Self {
        entries: 200_000,
        time: Duration::from_secs(5),
    };
}

/// Why a walk was given up.
#[derive(Debug)]
pub(crate) enum WalkError {
    /// The glob cannot be read.
    Glob(String),
    /// The budget is used up; so many entries were seen.
    Budget(usize),
    /// A folder could not be read.
    Io(PathBuf, io::Error),
}

/// What a glob means.
#[derive(Debug, Default)]
pub(crate) struct Matches {
    /// The paths, in their order.
    pub(crate) paths: Vec<PathBuf>,
    /// Those that the glob means by another name alone: below a link to a folder.
    pub(crate) led: Vec<PathBuf>,
    /// Folders that may hold others, and could not be looked into.
    pub(crate) closed: Vec<Closed>,
}

/// The same of a glob that denies: by the name of a link to a folder of the tree a program reads what is in that
/// folder, so what the glob would mean below the link is meant there.
pub(crate) fn denied(root: &Path, glob: &str, budget: Budget) -> Result<Matches, WalkError> {
    denied_in(root, root, glob, budget)
}

/// The same of a folder in the tree `top`.
fn denied_in(top: &Path, root: &Path, glob: &str, budget: Budget) -> Result<Matches, WalkError> {
    let heads = Heads::of(glob);
    let mut links = BTreeSet::new();
    let mut found = walk(root, glob, budget, &mut |link, relative| {
        let tails = heads.tails(relative).map(str::to_owned);
        links.extend(tails.map(|tail| (link.to_path_buf(), tail)));
    })?;
    for (link, tail) in links {
        let real = link.canonicalize().ok();
        let Some(real) = real.filter(|real| real.starts_with(top) && real.is_dir()) else {
            continue;
        };
        if tail == "**" {
            found.led.push(real);
            continue;
        }
        let below = denied_in(top, &real, &tail, budget)?;
        found.led.extend(below.paths);
        found.led.extend(below.led);
        found.closed.extend(below.closed);
    }
    found.led.sort();
    found.led.dedup();
    Ok(found)
}

/// Every path below `root` that matches `glob`, without what lies below a match.
pub(crate) fn matches(root: &Path, glob: &str, budget: Budget) -> Result<Matches, WalkError> {
    walk(root, glob, budget, &mut |_, _| {})
}

/// The same; what is no match and a link is given to `link`, with its path below `root`.
fn walk(
    root: &Path,
    glob: &str,
    budget: Budget,
    link: &mut dyn FnMut(&Path, &Path),
) -> Result<Matches, WalkError> {
    // Most patterns of the templates mean folders that a workspace does not have; compiling them
    // would be most of what they cost.
    if !may_match(root, glob) {
        return Ok(Matches::default());
    }
    let matcher = Matcher::new(glob)?;
    let depth = if glob.contains("**") {
        usize::MAX
    } else {
        glob.split('/').count()
    };
    let deadline = Instant::now() + budget.time;
    let (mut paths, mut closed) = (Vec::new(), closed::All::default());
    let mut folders = vec![(root.to_path_buf(), 1)];
    let mut seen = 0;
    while let Some((folder, level)) = folders.pop() {
        let entries = match closed::open(&folder) {
            Ok(Some(entries)) => entries,
            Ok(None) => continue,
            // The sandboxed program is the same user, and could give itself the rights.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                closed.add(Closed::of(&folder, &e));
                continue;
            }
            Err(e) => return Err(WalkError::Io(folder, e)),
        };
        for entry in entries {
            let entry = entry.map_err(|e| WalkError::Io(folder.clone(), e))?;
            seen += 1;
            if seen > budget.entries || (seen % 1024 == 0 && Instant::now() > deadline) {
                return Err(WalkError::Budget(seen));
            }
            let path = entry.path();
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let kind = entry.file_type().ok();
            match kind {
                _ if matcher.is_match(relative) => paths.push(path),
                Some(kind) if level < depth && kind.is_dir() => folders.push((path, level + 1)),
                Some(kind) if level < depth && kind.is_symlink() => link(&path, relative),
                _ => {}
            }
        }
    }
    paths.sort();
    let closed = closed.take();
    let led = Vec::new();
    Ok(Matches { paths, led, closed })
}

/// What a path below the root is compared with.
enum Matcher<'a> {
    /// For each part what a name begins and ends with. Most patterns have no more than a star in a
    /// part, and compiling an expression takes longer than all of a short walk.
    Plain(Vec<(&'a [u8], Option<&'a [u8]>)>),
    Compiled(Box<PathGlob>),
}

impl<'a> Matcher<'a> {
    fn new(glob: &'a str) -> Result<Self, WalkError> {
        if let Some(parts) = glob.split('/').map(plain).collect() {
            return Ok(Self::Plain(parts));
        }
        let compiled = PathGlob::new(glob).map_err(WalkError::Glob)?;
        Ok(Self::Compiled(Box::new(compiled)))
    }

    fn is_match(&self, path: &Path) -> bool {
        let parts = match self {
            Self::Plain(parts) => parts,
            Self::Compiled(matcher) => return matcher.is_match(path),
        };
        let mut names = path.iter().map(OsStr::as_encoded_bytes);
        let all = parts.iter().all(|(begin, end)| {
            names.next().is_some_and(|name| match end {
                Some(end) => name
                    .strip_prefix(*begin)
                    .is_some_and(|rest| rest.ends_with(end)),
                None => name == *begin,
            })
        });
        all && names.next().is_none()
    }
}

/// A part of a glob with one star at the most, as what stands before and behind it.
fn plain(part: &str) -> Option<(&[u8], Option<&[u8]>)> {
    let (begin, end) = match part.split_once('*') {
        Some((begin, end)) => (begin, Some(end)),
        None => (part, None),
    };
    let rest = end.unwrap_or_default();
    let is_wild = |text: &str| text.contains(WILD) || text.contains('}');
    let wild = part.is_empty() || is_wild(begin) || is_wild(rest) || PathGlob::names_others(part);
    (!wild).then_some((begin.as_bytes(), end.map(str::as_bytes)))
}

/// What means more than itself in a glob.
const WILD: [char; 5] = ['*', '?', '[', '{', '\\'];

/// Whether anything could match: the folder that every match lies in is there, and in it a name
/// that begins as the glob's first part with a wildcard does.
fn may_match(root: &Path, glob: &str) -> bool {
    let mut folder = root.to_path_buf();
    let mut parts = glob.split('/').peekable();
    while let Some(part) = parts.next() {
        let begin = match PathGlob::names_others(part) {
            true => Some(0),
            false => part.find(WILD),
        };
        let Some(begin) = begin else {
            if parts.peek().is_some() {
                folder.push(part);
            }
            continue;
        };
        return match fs::read_dir(&folder) {
            Ok(_) if begin == 0 => true,
            Ok(entries) => entries.into_iter().any(|entry| {
                let name = entry.map(|entry| entry.file_name());
                name.map_or(true, |n| {
                    n.as_encoded_bytes().starts_with(&part.as_bytes()[..begin])
                })
            }),
            // What cannot be read is told by the walk.
            Err(error) => !is_absent(&error),
        };
    }
    !fs::metadata(&folder).is_err_and(|error| is_absent(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            "a/.env",
            "a/b/.env",
            ".env",
            "a/env",
            "m/x/hooks/h",
            "m/y/hooks/h",
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).unwrap();
        dir
    }

    fn found(glob: &str) -> Vec<String> {
        let dir = tree();
        matches(dir.path(), glob, Budget::START)
            .unwrap()
            .paths
            .iter()
            .map(|p| p.strip_prefix(dir.path()).unwrap().display().to_string())
            .collect()
    }

    #[test]
    fn a_double_star_finds_a_name_at_every_depth_and_follows_no_link() {
        assert_eq!(found("**/.env"), [".env", "a/.env", "a/b/.env"]);
    }

    #[test]
    fn what_denies_holds_below_a_link_to_a_folder_of_the_tree() {
        let dir = tree();
        let link = |to: &str, at: &str| {
            std::os::unix::fs::symlink(to, dir.path().join(at)).unwrap();
        };
        link("../a", "m/conf");
        link("m", "n");
        link("/etc", "m/etc");
        let top = dir.path().canonicalize().unwrap();
        let denied = |glob: &str| {
            let found = denied(&top, glob, Budget::START).unwrap().led;
            let below = found.iter().map(|path| path.strip_prefix(&top).unwrap());
            below
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(denied("**/conf/env"), ["a/env"]);
        assert_eq!(denied("n/conf/**/.env"), ["a/.env", "a/b/.env"]);
        assert_eq!(denied("**/etc/passwd"), [""; 0]);
        assert_eq!(denied("loop/loop/a/env"), ["a/env"]);
        assert_eq!(denied("n/**"), ["m"]);
        assert_eq!(denied("**/{x,conf/b}/.env"), ["a/b/.env"]);
    }

    #[test]
    fn a_single_star_stays_between_two_slashes() {
        assert_eq!(found("m/*/hooks"), ["m/x/hooks", "m/y/hooks"]);
        assert_eq!(found("*/.env"), ["a/.env"]);
    }

    #[test]
    fn a_name_that_begins_otherwise_is_no_match() {
        assert_eq!(found("a/.e*"), ["a/.env"]);
        assert_eq!(found("a/e?v"), ["a/env"]);
        assert_eq!(found("a/x*"), [""; 0]);
        assert_eq!(found("x/.e*"), [""; 0]);
        assert_eq!(found("m/x/hooks"), ["m/x/hooks"]);
    }

    #[test]
    fn a_class_stays_between_two_slashes() {
        assert_eq!(found("**/a[!x].env"), [""; 0]);
        assert_eq!(found("**/.[!x]nv"), [".env", "a/.env", "a/b/.env"]);
    }

    #[test]
    fn a_tree_over_the_budget_is_an_error_not_a_part() {
        let dir = tree();
        let budget = Budget {
            entries: 3,
            time: Duration::from_secs(60),
        };
        assert!(matches!(
            matches(dir.path(), "**/.env", budget),
            Err(WalkError::Budget(_))
        ));
    }
}
