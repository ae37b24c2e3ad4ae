//! What an attacker knows: where everything lies on the host, and who serves what there. It is a
//! text file in the workspace, so that both sides read the same.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What nobody inside may read.
pub(crate) const SECRET: &str = "the key of the host\n";
/// What a file of the host holds until an escape changes it.
pub(crate) const HOST: &str = "of the host\n";
/// What an escape writes. A configuration of git that would run something, so that it is no less
/// harmful where a configuration is written.
pub(crate) const WRITTEN: &str = "[core]\n\tfsmonitor = from inside\n";
/// What a server of the host answers.
pub(crate) const TOKEN: &[u8] = b"reached the host";

/// How long an answer that comes may take.
pub(crate) const ANSWERED: Duration = Duration::from_secs(50);

/// The surroundings of one run, for the row that is tried.
#[derive(Clone, Debug, Default)]
pub(crate) struct Field {
    /// The row.
    pub(crate) id: String,
    known: BTreeMap<String, String>,
}

impl Field {
    /// Knows one more thing.
    pub(crate) fn know(&mut self, key: &str, value: impl std::fmt::Display) {
        self.known.insert(key.to_owned(), value.to_string());
    }

    /// The same for another row.
    pub(crate) fn of(&self, id: &str) -> Self {
        Self {
            id: id.to_owned(),
            known: self.known.clone(),
        }
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let lines = self
            .known
            .iter()
            .map(|(key, value)| format!("{key}={value}\n"));
        std::fs::write(path, lines.collect::<String>())
    }

    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let text = std::fs::read_to_string(path)?;
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        Ok(Self {
            id: String::new(),
            known: pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
        })
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.known.get(key).map_or("", String::as_str)
    }

    pub(crate) fn number(&self, key: &str) -> i64 {
        self.text(key).parse().unwrap_or(-1)
    }

    pub(crate) fn port(&self) -> u16 {
        u16::try_from(self.number("port")).unwrap_or(1)
    }

    /// How long an act goes on that somebody has to see: for a moment, and where it is to be ended until it
    /// is.
    pub(crate) fn goes_on(&self, moment: Duration) -> Duration {
        let milliseconds = u64::try_from(self.number("goes-on")).unwrap_or_default();
        moment.max(Duration::from_millis(milliseconds))
    }

    /// How long to wait for an answer that does not come where the act is held: by that alone it can be told.
    /// Everywhere else it comes, however busy the machine is.
    pub(crate) fn patience(&self) -> Duration {
        match self.number("answered") {
            1 => ANSWERED,
            _ => Duration::from_secs(1),
        }
    }

    fn at(&self, below: &str) -> PathBuf {
        Path::new(self.text("root")).join(below)
    }

    /// The workspace, which may be written.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.at("workspace")
    }

    /// A name in the workspace that only this row uses.
    pub(crate) fn own(&self, name: &str) -> PathBuf {
        self.workspace().join(format!("{}-{name}", self.id))
    }

    /// A folder of the host that the policy does not name.
    pub(crate) fn outside(&self) -> PathBuf {
        self.at("outside")
    }

    /// A file there that holds [`SECRET`].
    pub(crate) fn secret(&self) -> PathBuf {
        self.at("outside/secret")
    }

    /// This row's file there, which holds [`HOST`].
    pub(crate) fn target(&self) -> PathBuf {
        self.outside().join(format!("{}.file", self.id))
    }

    /// This row's empty folder there.
    pub(crate) fn folder(&self) -> PathBuf {
        self.outside().join(format!("{}.folder", self.id))
    }

    /// This row's file in a folder that may only be read.
    pub(crate) fn readable(&self) -> PathBuf {
        self.at("readable").join(&self.id)
    }

    /// This row's file in a protected folder of the workspace.
    pub(crate) fn protected(&self) -> PathBuf {
        self.workspace().join(".vscode").join(&self.id)
    }

    /// The home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.at("home")
    }

    /// Where the sandbox's records are.
    pub(crate) fn state(&self) -> PathBuf {
        self.at("state")
    }

    /// Whether this row's files on the host are as they were.
    pub(crate) fn holds(path: &Path, content: &str) -> bool {
        std::fs::read_to_string(path).is_ok_and(|found| found == content)
    }
}

/// A path for a system call.
pub(crate) fn c(path: impl AsRef<Path>) -> CString {
    CString::new(path.as_ref().as_os_str().as_encoded_bytes()).unwrap_or_default()
}
