//! Links of the user's that lie outside of the folders that may be written and lead into them: in the folders above,
//! which programs look through for names that they obey, and in his home directory, where links of any name are
//! obeyed by some program.

use super::{Kind, Names};
use crate::broker::rules::host::AT_HOME;
use crate::broker::rules::links::CACHES;
use crate::paths::below;
use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
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
        for entry in entries(at, left) {
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => {
                    self.led_to((AT_HOME, Kind::Reported), entry.path(), Path::new(""));
                }
                Ok(kind) if kind.is_dir() => folder(entry.path()),
                _ => {}
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
            for entry in entries(&top.join(&folder), left) {
                let Ok(kind) = entry.file_type() else {
                    continue;
                };
                let name = folder.join(entry.file_name());
                let (above, path) = (top.join(&folder), entry.path());
                if !self.may_be_one(&above, &entry) || !is_own(&path) {
                    continue;
                }
                self.entry_as(&inside.join(&name), &above, path, kind);
                // Other folders there are projects of their own.
                let dotted = entry.file_name().as_encoded_bytes().starts_with(b".");
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
            let kind = path.symlink_metadata().map(|meta| meta.file_type());
            if let (Ok(kind), Some(above)) = (kind, path.parent())
                && is_own(&path)
            {
                self.entry_as(&inside.join(&name), above, path.clone(), kind);
            }
        }
    }

    /// Whether an entry of a folder can be a part of a name that is protected or reported.
    fn may_be_one(&self, folder: &Path, entry: &DirEntry) -> bool {
        let name = entry.file_name();
        self.folders.contains_key(folder) || self.parts.may_be_named(name.as_encoded_bytes())
    }
}

/// The entries of a folder, as many as are left.
fn entries(folder: &Path, left: &mut usize) -> Vec<DirEntry> {
    let listed = fs::read_dir(folder).into_iter().flatten();
    let listed: Vec<DirEntry> = listed.flatten().take(*left).collect();
    *left -= listed.len();
    listed
}

/// Whether the caller has made something, or the system: other users' links are not followed for what is his.
fn is_own(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    path.symlink_metadata()
        .is_ok_and(|meta| meta.uid() == own || meta.uid() == 0)
}
