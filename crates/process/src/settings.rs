//! The configurations of the user's repositories: where their remotes and branches lead, who signs, what git shows. Each
//! is read before the first act of a run that names a file, so that it is known at the end what it said, also where the
//! repository has come to its name otherwise than by a change of the file.

use crate::broker::{Left, Rules};
use crate::git;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// So many bytes are kept in all; of further ones only changes of the file itself are told.
const BYTES: usize = 64 << 20;

/// What they said.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    known: BTreeMap<Of, Vec<u8>>,
    bytes: usize,
}

/// By what a configuration is found, as a path on the host.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    /// Its own.
    File(PathBuf),
    /// A working tree, which may be another repository's by the end.
    Tree(PathBuf),
}

impl Of {
    /// The configuration, and what it says.
    fn read(&self) -> Option<(PathBuf, Vec<u8>)> {
        let path = match self {
            Self::File(path) => path.clone(),
            Self::Tree(tree) => git::configuration_of_tree(tree)?,
        };
        let text = git::read_configuration(&path)?;
        Some((path, text))
    }
}

impl Settings {
    /// Keeps that of a git folder.
    pub(crate) fn keep(&mut self, git: &Path) {
        self.keep_of(Of::File(git.join("config")));
    }

    /// Keeps that of the repository of a working tree.
    pub(crate) fn keep_tree(&mut self, tree: &Path) {
        self.keep_of(Of::Tree(tree.to_path_buf()));
    }

    fn keep_of(&mut self, of: Of) {
        if self.known.contains_key(&of) {
            return;
        }
        let said = of.read().map(|(_, text)| text);
        if let Some(text) = said.filter(|text| self.bytes + text.len() <= BYTES) {
            self.bytes += text.len();
            self.known.insert(of, text);
        }
    }

    /// What is to be told of those that say something else now.
    pub(crate) fn look<'a>(&'a self, rules: &'a Rules) -> impl Iterator<Item = Left> + 'a {
        self.known.iter().flat_map(|(of, before)| {
            let now = of.read().filter(|(_, now)| now != before);
            let left = now.map(|(path, now)| {
                let both = [before.as_slice(), &now];
                rules.left_configuration(&path, both, true, &rules.site_on_host(&path))
            });
            left.unwrap_or_default()
        })
    }
}
