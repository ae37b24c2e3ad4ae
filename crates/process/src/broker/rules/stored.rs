//! What a run stores as objects of git, as far as the rules say something of it; see `crate::stored`.

use super::host::{CUT, STORED, UNCOMPARED};
use super::{Left, Rules};
use crate::git::{self, Stored};
use crate::paths::may_be_there;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

impl Rules {
    /// What is to be looked at when the run has ended, because something is stored by this name: the list of a pack, the
    /// folder `pack`, or the folder of objects.
    pub(super) fn stored(&self, path: &Path) -> Option<Left> {
        let folder = match path.file_name()? {
            name if name == ".git" => path.join("objects"),
            // What makes a repository of its folder has come anew.
            name if (name == "HEAD" || name == "refs") && git::below_git(path).is_none() => {
                let objects = path.with_file_name("objects");
                may_be_there(&objects).then_some(objects)?
            }
            _ => path
                .ancestors()
                .find(|above| is_objects(above))?
                .to_path_buf(),
        };
        self.git(&folder)?;
        let below = path.strip_prefix(&folder).unwrap_or(Path::new(""));
        let looked_at = match git::stored_as(below) {
            Some(Stored::Pack) => path.with_extension("idx"),
            // A folder of this name has come as a whole.
            _ if [Path::new(""), Path::new("pack")].contains(&below) => folder.join("pack"),
            _ => folder,
        };
        self.left_as(&looked_at, STORED)
    }

    /// The folder of objects in which something is stored, where this says so.
    pub(crate) fn folder_of_stored(left: &Left) -> Option<&Path> {
        let mut above = left.path.ancestors();
        above.find(|above| left.row == STORED && above.ends_with("objects"))
    }

    /// What is reported of a folder of objects in which not all was compared.
    pub(crate) fn left_objects(&self, folder: &Path) -> Option<Left> {
        self.left_as(folder, UNCOMPARED)
    }

    /// Takes what was stored out of what is left.
    pub(crate) fn take_stored(left: &mut BTreeSet<Left>) -> Vec<PathBuf> {
        let stored = left.extract_if(.., |left| left.row == STORED);
        stored.map(|left| left.path).collect()
    }

    /// Whether there were more files than are told.
    pub(crate) fn is_cut(left: &BTreeSet<Left>) -> bool {
        left.iter().any(|left| left.row == CUT)
    }

    /// Whether a git folder is that of a folder which may be written: the user's, whoever has made it anew.
    pub(crate) fn is_of_top(&self, git: &Path) -> bool {
        self.host.iter().any(|folder| folder.join(".git") == git)
    }
}

fn is_objects(folder: &Path) -> bool {
    // It is asked of every folder above each name that is made.
    folder.ends_with("objects")
        && (git::below_git(folder).is_some() || folder.parent().is_some_and(git::is_repository_at))
}
