//! A path that is asked about, and where components occur in it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// A path that is asked about; every act asks about one, under every rule.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) path: &'a Path,
    /// Whether it is written as the kernel writes paths: then bytes say what components say.
    canonical: bool,
    /// Whether a name in it may begin with a dot.
    pub(super) dotted: bool,
}

impl<'a> Asked<'a> {
    pub(super) fn new(path: &'a Path) -> Self {
        let bytes = path.as_os_str().as_bytes();
        let mut asked = Self {
            path,
            canonical: bytes.first() == Some(&b'/'),
            dotted: bytes.first() == Some(&b'.'),
        };
        for at in (0..bytes.len()).filter(|&at| bytes[at] == b'/') {
            match &bytes[at + 1..] {
                [b'.', rest @ ..] => {
                    asked.dotted = true;
                    asked.canonical &= !matches!(rest, [] | [b'/', ..]);
                }
                [] | [b'/', ..] => asked.canonical = false,
                _ => {}
            }
        }
        asked
    }

    /// [`Path::starts_with`], for a folder that is written as the kernel writes paths.
    pub(super) fn is_in(&self, folder: &Path) -> bool {
        if !self.canonical {
            return self.path.starts_with(folder);
        }
        let bytes = self.path.as_os_str().as_bytes();
        match bytes.strip_prefix(folder.as_os_str().as_bytes()) {
            Some([] | [b'/', ..]) => true,
            Some(_) => folder == Path::new("/"),
            None => false,
        }
    }

    /// Whether these components may stand in it, one below the other.
    pub(super) fn may_contain(&self, components: &[String]) -> bool {
        let first = components.first();
        self.dotted || first.is_none_or(|first| !first.starts_with('.'))
    }
}

pub(super) fn parts(path: &Path) -> Vec<&OsStr> {
    path.components().map(Component::as_os_str).collect()
}
