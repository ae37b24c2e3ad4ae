//! Links of the user's that lie outside of the folders that may be written and lead into them: in the folders above,
//! which programs look through for names that they obey, and in his home directory, where links of any name are
//! obeyed by some program.

use super::{Kind, Names};
use crate::broker::rules::host::AT_HOME;
use crate::broker::rules::links::CACHES;
use crate::closed::Listing;
use crate::paths::below;
use rustix::fs::{FileType, lstat};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// So deep in a folder above, which no walk goes through; in the home directory there may be much.
const DEPTH: usize = 3;
/// The folders of a home directory in which people put links to files that they keep elsewhere.
const OF_HOME: [&str; 5] = ["", "bin", ".local/bin", CONFIG, ".ssh"];
/// The one of them in which each program has a folder.
const CONFIG: &str = ".config";
/// So deep in the folders of a home directory whose names begin with a dot, where there are such links.
const DEPTH_AT_HOME: usize = 4;

impl Names<'_> {
    /// Looks at them, and at so many entries in all.
    pub(in super::super) fn outside(&mut self, most: usize) {
        let mut left = most;
        let mut seen = BTreeSet::new();
        let rules = self.rules;
        for (top, inside) in rules.kept.iter().zip(&rules.host) {
            let above = top.ancestors().skip(1);
            for folder in above.take_while(|folder| folder.parent().is_some()) {
                let inner = rules.kept.iter().any(|kept| folder.starts_with(kept));
                if !inner && seen.insert(folder.to_path_buf()) {
                    self.above(folder, inside, &mut left);
                    if left == 0 {
                        self.more = true;
                        self.above_by_name(folder, inside);
                    }
                }
            }
        }
        if !self.rules.matcher().is_empty() {
            self.at_home(most);
        }
    }

    /// Looks where most people have such links, and only where there are any at all that hold more.
    fn at_home(&mut self, most: usize) {
        let home = below(self.rules.root(), &self.rules.home);
        let mut left = most;
        let before = self.known[Kind::Reported as usize].len();
        let mut open: Vec<(PathBuf, usize)> = Vec::new();
        for name in OF_HOME {
            let folder = home.join(name);
            self.links_in(&folder, &mut left, &mut |path| open.push((path, 1)));
        }
        let config = home.join(CONFIG);
        let (of_config, others): (Vec<_>, Vec<_>) = open
            .into_iter()
            .partition(|(path, _)| path.parent() == Some(&config));
        let mut open = others;
        for (folder, _) in of_config {
            self.links_in(&folder, &mut left, &mut |path| open.push((path, 2)));
        }
        self.more |= left == 0;
        if self.known[Kind::Reported as usize].len() == before && !self.is_of_dot_files() {
            return;
        }
        let caches = |path: &Path| CACHES.iter().any(|cache| path == home.join(cache));
        open.retain(|(path, _)| {
            let dotted = path
                .strip_prefix(&home)
                .is_ok_and(|path| path.as_os_str().as_encoded_bytes().starts_with(b"."));
            dotted && !OF_HOME.iter().any(|name| *path == home.join(name)) && !caches(path)
        });
        while let Some((folder, depth)) = open.pop() {
            let mut inner = Vec::new();
            self.links_in(&folder, &mut left, &mut |path| inner.push(path));
            if depth < DEPTH_AT_HOME {
                inner.retain(|path| !caches(path));
                open.extend(inner.into_iter().map(|path| (path, depth + 1)));
            }
        }
        self.more |= left == 0;
    }

    /// Notes the links of a folder of the home directory, and gives its folders to `folder`.
    fn links_in(&mut self, at: &Path, left: &mut usize, folder: &mut dyn FnMut(PathBuf)) {
        let wanted = |_: &OsStr, kind: FileType| kind.is_symlink() || kind.is_dir();
        for (name, kind) in entries(&mut self.listing, at, left, wanted) {
            match kind.is_symlink() {
                true => self.led_to((AT_HOME, Kind::Reported), at.join(name), Path::new("")),
                false => folder(at.join(name)),
            }
        }
    }

    /// Whether a folder that may be written has a name as people give it to where they keep such files.
    fn is_of_dot_files(&self) -> bool {
        let mut tops = self.rules.kept.iter();
        tops.any(|top| {
            let text = top.to_string_lossy().to_ascii_lowercase();
            ["dot", "stow", "chezmoi", "config"]
                .iter()
                .any(|word| text.contains(word))
        })
    }

    /// Judges what lies in a folder as if it lay in one that may be written.
    fn above(&mut self, top: &Path, inside: &Path, left: &mut usize) {
        let is_home = top == below(self.rules.root(), &self.rules.home);
        let deepest = if is_home { 1 } else { DEPTH };
        let mut open = vec![(PathBuf::new(), 1)];
        while let Some((folder, depth)) = open.pop() {
            let above = top.join(&folder);
            let all = self.folders.contains_key(&above);
            // Whether it can be a part of a name that is protected or reported.
            let may_be_one = |name: &OsStr, _| all || self.parts.may_be_named(name.as_bytes());
            for (own, kind) in entries(&mut self.listing, &above, left, may_be_one) {
                let (name, path) = (folder.join(&own), above.join(&own));
                if !is_own(&path) {
                    continue;
                }
                self.entry_as(&inside.join(&name), &above, path, kind);
                // Other folders there are projects of their own.
                let dotted = own.as_bytes().starts_with(b".");
                if kind.is_dir() && depth < deepest && (dotted || depth > 1) {
                    open.push((name, depth + 1));
                }
            }
        }
    }

    /// The same of the names alone that are known, in a folder that holds more than is looked at.
    fn above_by_name(&mut self, top: &Path, inside: &Path) {
        let patterns = self.rules.matcher().patterns();
        let ways = patterns.flat_map(|pattern| Path::new(pattern).ancestors());
        let names: BTreeSet<PathBuf> = ways.map(Path::to_path_buf).collect();
        for name in names.into_iter().filter(|name| *name != Path::new("")) {
            let path = top.join(&name);
            if let (Ok(stat), Some(above)) = (lstat(&path), path.parent())
                && is_own(&path)
            {
                let kind = FileType::from_raw_mode(stat.st_mode);
                self.entry_as(&inside.join(&name), above, path.clone(), kind);
            }
        }
    }
}

/// Those of a folder's entries that are wanted, among as many as are left to be looked at.
fn entries(
    listing: &mut Listing,
    folder: &Path,
    left: &mut usize,
    wanted: impl Fn(&OsStr, FileType) -> bool,
) -> Vec<(OsString, FileType)> {
    let mut found = Vec::new();
    // What cannot be listed has nothing that the user's programs would find there.
    let _ = listing.each(folder, &mut |name, kind| {
        if *left == 0 {
            return ControlFlow::Break(());
        }
        *left -= 1;
        if wanted(name, kind) {
            found.push((name.to_owned(), kind));
        }
        ControlFlow::Continue(())
    });
    found
}

/// Whether the caller has made something, or the system: other users' links are not followed for what is his.
fn is_own(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    path.symlink_metadata()
        .is_ok_and(|meta| meta.uid() == own || meta.uid() == 0)
}
