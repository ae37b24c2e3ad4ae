//! A machine for tests: a home directory, a workspace below it, and policy files, all of it in a
//! folder that is removed afterwards. Nothing of the real machine is read through it.

use crate::{Access, Loaded, PolicyError, Request, load};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) struct Machine {
    root: TempDir,
    pub(crate) request: Request,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let at = root.path().canonicalize().unwrap();
        let home = at.join("home");
        let workspace = home.join("project");
        fs::create_dir_all(&workspace).unwrap();
        let request = Request {
            policies: Vec::new(),
            workspace: workspace.clone(),
            system_file: at.join("etc/bailiwick/policy.toml"),
            user_file: home.join(".config/bailiwick/policy.toml"),
            trust_file: at.join("state/bailiwick/trust.json"),
            written_file: at.join("state/bailiwick/written"),
            cache: at.join("cache/bailiwick"),
            cwd: workspace,
            home,
            environment: BTreeMap::new(),
            allow_wide_workspace: false,
            toolchains: true,
        };
        Self { root, request }
    }

    /// Writes a file; a relative path begins at the workspace, `~/` at the home directory.
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Writes a file that can be executed, by another process: were it open for writing in this one for
    /// a moment, a child that another test starts in that moment would hold it open, and to execute it
    /// would fail with `ETXTBSY`.
    pub(crate) fn program(self, path: &str, text: &str) -> Self {
        let machine = self.file(&format!("{path}.text"), text);
        let [source, program] = [format!("{path}.text"), path.to_owned()].map(|p| machine.path(&p));
        let mut install = std::process::Command::new("install");
        install.args(["-m", "755"]).args([&source, &program]);
        assert!(install.status().unwrap().success());
        fs::remove_file(source).unwrap();
        machine
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.request.home.join(rest),
            None => self.request.workspace.join(path),
        }
    }

    pub(crate) fn system(self, text: &str) -> Self {
        let path = self.request.system_file.to_str().unwrap().to_owned();
        self.file(&path, text)
    }

    pub(crate) fn user(self, text: &str) -> Self {
        self.file("~/.config/bailiwick/policy.toml", text)
    }

    pub(crate) fn project(self, text: &str) -> Self {
        self.file("bailiwick.toml", text)
    }

    pub(crate) fn policy(mut self, name: &str) -> Self {
        self.request.policies.push(name.to_owned());
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.request.environment.insert(name.into(), value.into());
        self
    }

    pub(crate) fn trusted(self) -> Self {
        crate::trust(&self.request).unwrap().store().unwrap();
        self
    }

    /// Has an earlier sandbox be able to write a folder.
    pub(crate) fn written(self, path: &str) -> Self {
        let folder = self.path(path).canonicalize().unwrap();
        crate::Written::remember(&self.request.written_file, &[folder]).unwrap();
        self
    }

    /// Makes a link.
    pub(crate) fn link(self, path: &str, target: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(self.path(target), path).unwrap();
        self
    }

    pub(crate) fn try_load(&self) -> Result<Loaded, PolicyError> {
        load(&self.request)
    }

    pub(crate) fn load(&self) -> Loaded {
        self.try_load().unwrap_or_else(|e| panic!("{e}"))
    }

    /// The error as it is shown, with the folder of this machine taken out.
    pub(crate) fn error(&self) -> String {
        let error = self.try_load().expect_err("this policy should be refused");
        error
            .render()
            .replace(self.root.path().to_str().unwrap(), "ROOT")
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }
}

/// What the policy says about a path.
pub(crate) fn access(loaded: &Loaded, path: &Path) -> Access {
    loaded.effective.explain_path(path).access
}

/// Whether a host can be reached.
pub(crate) fn reaches(loaded: &Loaded, host: &str) -> bool {
    loaded.effective.explain_host(host).unwrap().access == Access::Reachable
}
