//! The folder that holds every record. A record that another user can write proves nothing, so
//! a folder with a foreign owner or with write permission for others is refused, not mended.

use crate::LedgerError;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// `$XDG_STATE_HOME/bailiwick`, or `~/.local/state/bailiwick`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir(PathBuf);

impl StateDir {
    /// The state folder of the user; made (0700) if it is not there.
    ///
    /// # Errors
    /// [`LedgerError::NoHome`], and those of [`StateDir::at`].
    pub fn from_environment() -> Result<Self, LedgerError> {
        Self::at(Self::location().ok_or(LedgerError::NoHome)?)
    }

    /// Where this user's state folder is, whether it is there or not; none where nothing says so.
    #[must_use]
    pub fn location() -> Option<PathBuf> {
        let absolute = |name: &str| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|p| p.is_absolute())
        };
        let state = absolute("XDG_STATE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
        Some(state.join("bailiwick"))
    }

    /// A state folder at `path`; made (0700, with its parents) if it is not there.
    ///
    /// # Errors
    /// [`LedgerError::NotPrivate`] where it belongs to another user or others can write it;
    /// [`LedgerError::Io`].
    pub fn at(path: impl Into<PathBuf>) -> Result<Self, LedgerError> {
        let dir = Self(path.into());
        let sessions = dir.sessions();
        make_private(&sessions)?;
        check_private(&dir.0)?;
        check_private(&sessions)?;
        Ok(dir)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder with one folder for each session, and their index.
    #[must_use]
    pub fn sessions(&self) -> PathBuf {
        self.0.join("sessions")
    }

    /// The folder with the private caches of each workspace, by the workspace's hash. Not made
    /// here: many runs need none.
    #[must_use]
    pub fn projects(&self) -> PathBuf {
        self.0.join("projects")
    }

    /// The list of folders that sandboxes could write (`bailiwick_policy::Written`). Not made here.
    #[must_use]
    pub fn written(&self) -> PathBuf {
        self.0.join("written")
    }

    /// The folder with a link for each name that a session has. Not made here: many runs have none.
    pub(crate) fn names(&self) -> PathBuf {
        self.0.join("names")
    }

    /// The link of one name, which [`crate::meta::check_name`] accepts.
    pub(crate) fn name(&self, name: &str) -> PathBuf {
        self.names().join(name)
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.0.join("sessions/index")
    }
}

/// Makes a folder that only its owner can enter; that it is there already is no error.
pub(crate) fn make_private(path: &Path) -> Result<(), LedgerError> {
    // The common case is that it is there: one call.
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(path)
            .map_err(LedgerError::io("create", path)),
    }
}

fn check_private(path: &Path) -> Result<(), LedgerError> {
    let meta = fs::metadata(path).map_err(LedgerError::io("read", path))?;
    let why = if !meta.is_dir() {
        "is not a folder"
    } else if meta.uid() != rustix::process::geteuid().as_raw() {
        "belongs to another user"
    } else if meta.mode() & 0o022 != 0 {
        "can be written by other users"
    } else {
        return Ok(());
    };
    Err(LedgerError::NotPrivate {
        path: path.to_owned(),
        why,
    })
}

#[cfg(test)]
#[path = "state_dir_tests.rs"]
mod tests;
