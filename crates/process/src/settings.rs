//! The configurations of the user's repositories: where their remotes and branches lead, who signs, what git shows. Each
//! is read before the first act of a run that names a file, so that it is known at the end what it said, also where the
//! repository has come to its name otherwise than by a change of the file.

use crate::broker::{Left, Rules};
use crate::git;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// So many bytes are kept in all; of further ones only changes of the file itself are told.
const BYTES: usize = 64 << 20;

/// What they said, by their paths on the host.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    known: BTreeMap<PathBuf, Vec<u8>>,
    bytes: usize,
}

impl Settings {
    /// Keeps that of a git folder.
    pub(crate) fn keep(&mut self, git: &Path) {
        let path = git.join("config");
        if self.known.contains_key(&path) {
            return;
        }
        let text = git::read_configuration(&path);
        if let Some(text) = text.filter(|text| self.bytes + text.len() <= BYTES) {
            self.bytes += text.len();
            self.known.insert(path, text);
        }
    }

    /// What is to be told of those that say something else now.
    pub(crate) fn look<'a>(&'a self, rules: &'a Rules) -> impl Iterator<Item = Left> + 'a {
        self.known.iter().flat_map(|(path, before)| {
            let now = git::read_configuration(path).filter(|now| now != before);
            let left = now.map(|now| {
                let both = [before.as_slice(), &now];
                rules.left_configuration(path, both, true, &rules.site_on_host(path))
            });
            left.unwrap_or_default()
        })
    }
}
