//! One temporary tree per sandbox, removed when the last value that needs it is gone, so that an
//! outcome can still be asked for its ledger after the sandbox went out of scope.

use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A temporary tree: `workspace`, `state`, `config`, `home`.
pub(crate) struct Scratch {
    root: TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new()
            .prefix("bailiwick-test-")
            .tempdir()
            .expect("a temporary folder");
        for folder in ["workspace", "state", "config", "home"] {
            std::fs::create_dir(root.path().join(folder)).expect("a folder for the test");
        }
        Self { root }
    }

    /// The whole tree; policies and fixtures lie directly below it, outside the workspace.
    pub(crate) fn root(&self) -> PathBuf {
        self.root.path().canonicalize().expect("the test's folder")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root().join("workspace")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.root().join("state")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.root().join("config")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Writes a file with its parent folders, and returns its path.
    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        let parent = path.parent().expect("a file inside the test's folder");
        std::fs::create_dir_all(parent).expect("the file's folder");
        std::fs::write(&path, content).expect("a file of the test");
        path
    }

    /// The sessions that were recorded, oldest first.
    pub(crate) fn sessions(&self) -> Vec<String> {
        let folder = self.state().join("bailiwick/sessions");
        let Ok(entries) = std::fs::read_dir(folder) else {
            return Vec::new();
        };
        let mut names: Vec<_> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.parse::<bailiwick_event::SessionId>().is_ok())
            .collect();
        names.sort();
        names
    }
}
