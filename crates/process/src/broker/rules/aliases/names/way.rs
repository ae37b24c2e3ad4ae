//! Where a path leads, also where that is not there yet.

use crate::paths::is_absent;
use bailiwick_policy::LINKS;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Nothing has a path of more bytes (PATH_MAX, limits.h).
const LONGEST: usize = 4096;
/// So many bytes of a path cost as much to look up as one name.
const BYTES: usize = 32;

/// Where a path leads.
pub(super) struct Way {
    /// The links on the way, and the names that are not there and have a `..` behind them: a link could be made there.
    pub(super) places: Vec<PathBuf>,
    /// The end as things are, without links.
    pub(super) end: PathBuf,
    pub(super) is_there: bool,
    pub(super) is_folder: bool,
}

impl Way {
    /// Follows an absolute path. None where that is farther than `far`, which says how far it may be yet.
    pub(super) fn of(path: &Path, far: &mut usize) -> Option<Self> {
        let parts = |path: &Path| path.iter().map(OsString::from).collect::<VecDeque<_>>();
        let mut todo = parts(path);
        let mut ups = ups(&todo);
        let mut way = Self {
            places: Vec::new(),
            end: PathBuf::from("/"),
            is_there: true,
            is_folder: true,
        };
        let mut links = 0;
        // So many names at the end are not there, nor is what is in them.
        let mut absent = 0_usize;
        while let Some(part) = todo.pop_front() {
            *far = far.checked_sub(1)?;
            if part == ".." {
                ups -= 1;
                absent = absent.saturating_sub(1);
                way.end.pop();
                way.is_folder = true;
                continue;
            }
            way.end.push(part);
            let length = way.end.as_os_str().as_bytes().len();
            if length > LONGEST {
                return None;
            }
            if absent > 0 {
                absent += 1;
            } else {
                *far = far.checked_sub(length / BYTES)?;
                match fs::symlink_metadata(&way.end) {
                    Ok(meta) if meta.is_symlink() && links < LINKS => {
                        links += 1;
                        let target = parts(&fs::read_link(&way.end).ok()?);
                        ups += self::ups(&target);
                        way.places.push(way.end.clone());
                        way.end.pop();
                        todo = target.into_iter().chain(todo).collect();
                        continue;
                    }
                    Ok(meta) => way.is_folder = meta.is_dir(),
                    Err(error) => absent = usize::from(is_absent(&error)),
                }
            }
            if absent > 0 && ups > 0 {
                way.places.push(way.end.clone());
            }
        }
        way.is_there = absent == 0;
        way.is_folder &= way.is_there;
        Some(way)
    }
}

fn ups(parts: &VecDeque<OsString>) -> usize {
    parts.iter().filter(|part| *part == "..").count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn it_leads_on_through_what_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let at = |path: &str| top.join(path);
        fs::create_dir_all(at("a/b")).unwrap();
        symlink("a/b", at("one")).unwrap();
        symlink("gone/../one/x/y", at("two")).unwrap();
        let of = |path: &str| Way::of(&at(path), &mut 1000).unwrap();
        let way = of("one/..");
        assert_eq!(
            (way.end, way.is_there, way.is_folder),
            (at("a"), true, true)
        );
        assert_eq!(way.places, [at("one")]);
        let way = of("two");
        assert_eq!((way.end, way.is_there), (at("a/b/x/y"), false));
        assert_eq!(way.places, [at("two"), at("gone"), at("one")]);
        symlink("loop", at("loop")).unwrap();
        assert_eq!(of("loop").end, at("loop"));
    }

    #[test]
    fn what_leads_too_far_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let far = ["x"; 1900].join("/");
        for number in 0..40 {
            symlink(
                format!("l{}/{far}", number + 1),
                dir.path().join(format!("l{number}")),
            )
            .unwrap();
        }
        let path = dir.path().join("l0");
        assert!(Way::of(&path, &mut 2_000_000).is_none());
        assert!(Way::of(&dir.path().join("../x/.."), &mut 5).is_none());
    }
}
