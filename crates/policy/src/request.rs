//! What is asked of this crate. Everything that decides what a policy means stands here, so that
//! nothing is read from the process's own surroundings behind the caller's back.

use crate::built_in;
use crate::paths::normalise;
use crate::written;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Whose policy is to be made, from what.
#[derive(Clone, Debug)]
pub struct Request {
    /// The `--policy` arguments, in order: templates and files. Of two that say different things
    /// the later one holds. Empty: the template `default`.
    pub policies: Vec<String>,
    /// The workspace; relative to `cwd`.
    pub workspace: PathBuf,
    /// The user's home directory.
    pub home: PathBuf,
    /// The system's policy; need not exist.
    pub system_file: PathBuf,
    /// The user's policy; need not exist.
    pub user_file: PathBuf,
    /// The trust store; need not exist.
    pub trust_file: PathBuf,
    /// The list of folders that sandboxes could write ([`Written`](crate::Written)), beside the trust
    /// store; need not exist.
    pub written_file: PathBuf,
    /// The folder of what is started without being made anew: images and templates of machines, the
    /// guest's binary; need not exist.
    pub cache: PathBuf,
    /// Where relative `--policy` paths begin.
    pub cwd: PathBuf,
    /// The caller's environment: PATH and what the clients of sets are configured by.
    pub environment: BTreeMap<OsString, OsString>,
    /// Whether a workspace may be the home directory or hold the product's own files.
    pub allow_wide_workspace: bool,
    /// Whether toolchains on PATH below the home directory are made visible.
    pub toolchains: bool,
}

impl Request {
    /// A request with the files where this user has them (XDG base directories).
    #[must_use]
    pub fn from_environment(policies: Vec<String>, workspace: PathBuf) -> Self {
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        Self::new(policies, workspace, cwd, std::env::vars_os().collect())
    }

    /// A request of somebody with this environment.
    #[must_use]
    pub fn new(
        policies: Vec<String>,
        workspace: PathBuf,
        cwd: PathBuf,
        environment: BTreeMap<OsString, OsString>,
    ) -> Self {
        let folder = |name: &str| {
            let value = PathBuf::from(environment.get(OsStr::new(name))?);
            value.is_absolute().then_some(value)
        };
        let home = folder("HOME")
            .or_else(std::env::home_dir)
            .unwrap_or_else(|| PathBuf::from("/"));
        let config = folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let state = folder("XDG_STATE_HOME").unwrap_or_else(|| home.join(".local/state"));
        let cache = folder("XDG_CACHE_HOME").unwrap_or_else(|| home.join(".cache"));
        Self {
            policies,
            workspace,
            home,
            system_file: PathBuf::from("/etc/bailiwick/policy.toml"),
            user_file: config.join("bailiwick/policy.toml"),
            trust_file: state.join("bailiwick/trust.json"),
            written_file: state.join("bailiwick").join(written::NAME),
            cache: cache.join("bailiwick"),
            cwd,
            environment,
            allow_wide_workspace: false,
            toolchains: true,
        }
    }

    /// The user's folders of the product's own files, which no sandbox sees.
    pub fn own_folders(&self) -> impl Iterator<Item = &Path> {
        let system = self.system_file.parent();
        let files = [
            &self.user_file,
            &self.system_file,
            &self.trust_file,
            &self.written_file,
        ];
        built_in::own_places(self)
            .filter(move |place| files.iter().all(|file| file != place) && Some(*place) != system)
    }

    /// A variable of the caller's environment, if it is not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.environment
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|v| !v.is_empty())
    }

    /// A path as the user would write it: below `cwd` or the home directory, or in full.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let path = normalise(path);
        let text = |p: &Path| p.to_string_lossy().into_owned();
        match (path.strip_prefix(&self.cwd), path.strip_prefix(&self.home)) {
            (Ok(rest), _) if self.cwd != Path::new("/") => format!("./{}", text(rest)),
            (_, Ok(rest)) if self.home != Path::new("/") => format!("~/{}", text(rest)),
            _ => text(&path),
        }
    }
}
