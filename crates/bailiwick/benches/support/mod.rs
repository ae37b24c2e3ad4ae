//! The place in which the benches work: a workspace, and a state folder of its
//! own, so that no run writes into the user's record.

use bailiwick_policy::Request;
use std::path::PathBuf;
use tempfile::TempDir;

/// Files of the workspace.
const FILES: usize = 200;

/// A workspace and what belongs to it, until it is dropped.
pub(crate) struct Place(pub(crate) TempDir);

impl Place {
    /// In the home directory: sandboxes replace `/tmp`.
    pub(crate) fn new() -> Self {
        let home = std::env::home_dir().expect("a home directory");
        let folder = tempfile::Builder::new()
            .prefix(".bailiwick-bench-")
            .tempdir_in(home)
            .expect("a folder in the home directory");
        let place = Self(folder);
        let source = place.workspace().join("src");
        std::fs::create_dir_all(&source).expect("a workspace");
        for i in 0..FILES {
            let word = if i % 7 == 0 { "needle" } else { "straw" };
            let text = format!("{word} {i}\n").repeat(40);
            std::fs::write(source.join(format!("part-{i:03}.txt")), text).expect("a file");
        }
        place
    }

    /// The workspace.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.0.path().join("workspace")
    }

    /// What backs a policy's private paths.
    pub(crate) fn private(&self) -> PathBuf {
        self.0.path().join("private")
    }

    /// What `bailiwick run` would ask for here: the template `default`.
    pub(crate) fn request(&self) -> Request {
        let own = |path: &str| self.0.path().join(path);
        let mut request = Request::from_environment(Vec::new(), self.workspace());
        request.user_file = own("config/bailiwick/policy.toml");
        request.trust_file = own("state/bailiwick/trust.json");
        request.written_file = own("state/bailiwick/written");
        request.cwd = self.workspace();
        request
    }
}
