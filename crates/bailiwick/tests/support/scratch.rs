//! One temporary tree per sandbox, removed when the last value that needs it is gone, so that an
//! outcome can still be asked for its ledger after the sandbox went out of scope.

use super::{host_command, surroundings};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;

/// A temporary tree: `workspace`, `state`, `config`, `home`.
pub(crate) struct Scratch {
    root: TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        surroundings::in_order();
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
        let path = self.place(path);
        std::fs::write(&path, content).expect("a file of the test");
        path
    }

    /// The same with a file that can be executed. Another process makes it: what this one has open for
    /// writing a child that another test starts has as well, for a moment in which the kernel does not
    /// execute the file (ETXTBSY).
    pub(crate) fn program(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.place(path);
        let mut install = host_command("install");
        install.args(["-m", "755", "/dev/stdin"]).arg(&path);
        let mut install = install.stdin(Stdio::piped()).spawn().expect("install");
        let mut input = install.stdin.take().expect("its input");
        input.write_all(content.as_ref()).expect("a program");
        drop(input);
        assert!(install.wait().expect("its end").success(), "{path:?}");
        path
    }

    /// A copy of a program, made as [`Scratch::program`] makes one.
    pub(crate) fn copy_of_program(
        &self,
        from: impl AsRef<Path>,
        path: impl AsRef<Path>,
    ) -> PathBuf {
        let path = self.place(path);
        copy(from.as_ref(), &path);
        path
    }

    /// A path of the tree whose parent folders are there.
    fn place(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = self.root().join(path);
        let parent = path.parent().expect("a file inside the test's folder");
        std::fs::create_dir_all(parent).expect("the file's folder");
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

/// Copies a file with its mode, by a process of its own ([`Scratch::program`] says why).
pub(crate) fn copy(from: &Path, to: &Path) {
    let mut copy = host_command("cp");
    let copied = copy.arg("--").args([from, to]).status();
    assert!(copied.expect("cp").success(), "{from:?} to {to:?}");
}
