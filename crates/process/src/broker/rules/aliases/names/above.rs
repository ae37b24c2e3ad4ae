//! Links of the user's that lie outside of the folders that may be written and lead into them: in the folders above,
//! which programs look through for names that they obey, and in his home directory, where links of any name are
//! obeyed by some program.

use super::{Kind, Names};
use crate::broker::rules::host::AT_HOME;
use crate::paths::below;
use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// So many entries are looked at, in all.
const ENTRIES: usize = 50_000;
/// So deep in a folder above, which no walk goes through.
const DEPTH: usize = 3;
/// The folders of a home directory in which people put links to files that they keep elsewhere.
const OF_HOME: [&str; 14] = [
    "",
    "bin",
    ".local/bin",
    ".config",
    ".config/fish",
    ".config/git",
    ".config/systemd/user",
    ".config/zsh",
    ".claude",
    ".codex",
    ".gemini",
    ".ssh",
    ".vim",
    ".gnupg",
];

impl Names<'_> {
    /// Looks at them.
    pub(in super::super) fn outside(&mut self) {
        let mut left = ENTRIES;
        let mut seen = BTreeSet::new();
        let tops = self.rules.kept.iter().zip(&self.rules.host);
        for (top, inside) in tops.map(|(top, inside)| (top.clone(), inside.clone())) {
            let above = top.ancestors().skip(1);
            for folder in above.take_while(|folder| is_users_alone(folder)) {
                let inner = self.rules.kept.iter().any(|kept| folder.starts_with(kept));
                if !inner && seen.insert(folder.to_path_buf()) {
                    self.above(folder, &inside, &mut left);
                }
            }
        }
        if self.rules.matcher().is_empty() {
            return;
        }
        for name in OF_HOME {
            let folder = below(self.rules.root(), &self.rules.home).join(name);
            for link in entries(&folder, &mut left) {
                if link.file_type().is_ok_and(|kind| kind.is_symlink()) {
                    self.led_to((AT_HOME, Kind::Reported), link.path(), Path::new(""));
                }
            }
        }
    }

    /// Judges what lies in a folder as if it lay in one that may be written.
    fn above(&mut self, top: &Path, inside: &Path, left: &mut usize) {
        let mut open = vec![(PathBuf::new(), 1)];
        while let Some((folder, depth)) = open.pop() {
            for entry in entries(&top.join(&folder), left) {
                let Ok(kind) = entry.file_type() else {
                    continue;
                };
                let name = folder.join(entry.file_name());
                let goes_on = kind.is_dir() && depth < DEPTH;
                self.entry_as(&inside.join(&name), &top.join(&folder), entry.path(), kind);
                if goes_on && self.may_hold(&top.join(&name), &entry) {
                    open.push((name, depth + 1));
                }
            }
        }
    }

    /// Whether a folder is part of a name of several components, or is meant as a whole.
    fn may_hold(&self, path: &Path, entry: &DirEntry) -> bool {
        let name = entry.file_name();
        let whole = self.folders.contains_key(path);
        whole || self.parts.may_be_named(name.as_encoded_bytes())
    }
}

/// The entries of a folder, as many as are left.
fn entries(folder: &Path, left: &mut usize) -> Vec<DirEntry> {
    let listed = fs::read_dir(folder).into_iter().flatten();
    let listed: Vec<DirEntry> = listed.flatten().take(*left).collect();
    *left -= listed.len();
    listed
}

/// Whether nobody but the caller makes names in a folder.
fn is_users_alone(folder: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let alone = |meta: fs::Metadata| meta.uid() == own && meta.permissions().mode() & 0o002 == 0;
    folder.parent().is_some() && fs::metadata(folder).is_ok_and(alone)
}
