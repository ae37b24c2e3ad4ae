//! What git's own files said when a run began: what a run takes away is not forgotten.

use super::Rules;
use crate::broker::rename::content_of;
use crate::git::Content;
use std::path::Path;

impl Rules {
    /// With what git's own files in the folders of the host say now.
    pub(crate) fn with_baselines(mut self) -> Self {
        let files = self
            .host
            .iter()
            .flat_map(|folder| [".git/config", ".gitmodules"].map(|name| folder.join(name)));
        self.baselines = files
            .filter_map(|path| {
                let content = content_of(&path, Content::Config.limit()).ok()?;
                Some((path, content))
            })
            .collect();
        self
    }

    /// What a file of git that is not there said at the start.
    pub(crate) fn baseline(&self, path: &Path) -> Vec<u8> {
        let found = self.baselines.iter().find(|(known, _)| known == path);
        found
            .map(|(_, content)| content.clone())
            .unwrap_or_default()
    }
}
