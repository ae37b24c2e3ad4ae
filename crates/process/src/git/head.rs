//! The commit that is checked out, and what it has at a path.

use super::content::Site;
use super::followed::read;
use super::objects::{self, Objects, id_of};
use crate::paths::below;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// References lead to others so far, as git follows them.
const DEPTH: usize = 5;

/// The name of the commit that `HEAD` of the repository at a site leads to; none where there is none, or it is not
/// written in files of a known kind.
pub(crate) fn head(site: &Site<'_>) -> Option<Vec<u8>> {
    let mut name = b"HEAD".to_vec();
    for _ in 0..DEPTH {
        let path = Path::new(OsStr::from_bytes(&name));
        let folders = [site.folder(), site.shared_folder()];
        let mut texts = folders
            .iter()
            .filter_map(|folder| read(&below(site.root, &folder.join(path))));
        let Some(text) = texts.next() else {
            let packed = read(&below(site.root, &site.shared_folder().join("packed-refs")))?;
            let mut lines = packed.split(|&b| b == b'\n');
            return lines.find_map(|line| {
                let (id, rest) = line.split_at_checked(line.iter().position(|&b| b == b' ')?)?;
                (rest[1..] == name).then(|| id_of(id)).flatten()
            });
        };
        let text = text.trim_ascii_end();
        match text.strip_prefix(b"ref:") {
            Some(next) => name = next.trim_ascii_start().to_vec(),
            None => return id_of(text),
        }
    }
    None
}

/// Whether a commit has exactly this at a path: a file, a link or another repository by its mode, and the name of its
/// object. What cannot be read has nothing.
pub(crate) fn has(objects: &Objects<'_>, commit: &[u8], path: &[u8], entry: (u32, &[u8])) -> bool {
    let found = objects::entry_at(objects, commit, path).ok().flatten();
    found.is_some_and(|(mode, id)| (mode, id.as_slice()) == entry)
}
