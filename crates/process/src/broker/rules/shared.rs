//! The rules where a monitor shows the policy's files below a folder of its root: each path stands there,
//! and outside of it nothing is protected, because nothing of the policy is there.

use super::{Name, Rules};
use crate::paths::below;
use crate::setup::{raw, raw_list};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What a monitor has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shared {
    /// The folder below which the policy's files stand.
    #[serde(with = "raw")]
    share: PathBuf,
    /// Files that are opened for reading, whatever they are opened for.
    #[serde(with = "raw_list")]
    templates: Vec<PathBuf>,
}

impl Rules {
    /// The same below a folder. `templates` are the monitor's own, and not there.
    pub(crate) fn below(mut self, share: &Path, templates: Vec<PathBuf>) -> Self {
        for path in self.paths() {
            *path = below(share, path);
        }
        self.shared = Some(Shared {
            share: share.to_path_buf(),
            templates,
        });
        self.compiled()
    }

    /// Where the root of the policy's files is: what the paths of rules and refusals begin with.
    pub(crate) fn root(&self) -> &Path {
        let shared = self.shared.as_ref();
        shared.map_or(Path::new("/"), |shared| &shared.share)
    }

    /// Whether the file at this path is opened for reading, whatever it is opened for.
    pub(crate) fn is_template(&self, path: &Path) -> bool {
        let shared = self.shared.as_ref();
        shared.is_some_and(|shared| shared.templates.iter().any(|template| template == path))
    }

    /// Every path that something is decided by.
    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let names = self.names.iter_mut().map(|(_, name)| match name {
            Name::Whole(root) | Name::Anywhere { root, .. } | Name::Glob { root, .. } => root,
        });
        names
            .chain(&mut self.host)
            .chain(&mut self.exempt)
            .chain(&mut self.pinned)
            .chain([&mut self.workspace])
            .chain(self.denied.iter_mut().map(|denied| &mut denied.root))
    }
}
