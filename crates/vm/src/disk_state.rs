//! Whether a session's disk has everything that its programs wrote. A machine that is ended without notice
//! takes along what its kernel has not written back, and its file system does not show what is missing.
//!
//! Decision: a disk is whole where a file beside it says so. What wrote that file is this side: nothing that
//! a guest leaves on its disk makes it whole. Where nothing is said it is not whole.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The file, in the folder of a session's machine.
const NAME: &str = "disk-state";
/// A file beside it, where a machine has started on a disk that was not whole: what is missing is missing for good.
const TORN: &str = "disk-torn";
const CLOSED: &str = "closed";
const OPEN: &str = "open";

/// What is known of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskState {
    /// Everything that programs wrote is on it.
    Closed,
    /// A machine writes to it, or was ended before it had written everything.
    Open {
        /// What programs had written until then is on it, to the second; none where that is not known.
        synced: Option<SystemTime>,
    },
}

impl DiskState {
    /// That of the disk in a session's folder.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        if Self::is_torn(folder) {
            return Self::Open { synced: None };
        }
        let text = fs::read_to_string(folder.join(NAME)).unwrap_or_default();
        let mut words = text.split_whitespace();
        if words.next() == Some(CLOSED) {
            return Self::Closed;
        }
        let seconds = words.next().and_then(|word| word.parse().ok());
        let synced = seconds.and_then(|s| UNIX_EPOCH.checked_add(Duration::from_secs(s)));
        Self::Open { synced }
    }

    /// Whether a machine has started on the disk in a folder when that was not whole, and so without what was missing.
    #[must_use]
    pub fn is_torn(folder: &Path) -> bool {
        folder.join(TORN).symlink_metadata().is_ok()
    }

    /// Keeps that a machine starts on a disk that is not whole.
    pub(crate) fn tear(folder: &Path) -> io::Result<()> {
        fs::write(folder.join(TORN), "")
    }

    /// The disk in one folder is a copy of that in another: what is missing there is missing here.
    ///
    /// # Errors
    /// It cannot be kept.
    pub fn carry(from: &Path, to: &Path) -> io::Result<()> {
        match Self::is_torn(from) {
            true => Self::tear(to),
            false => Ok(()),
        }
    }

    /// Keeps it beside the disk; an interrupted call leaves the state that was there.
    pub(crate) fn keep(self, folder: &Path) -> io::Result<()> {
        let text = match self {
            Self::Closed => format!("{CLOSED}\n"),
            Self::Open { synced } => {
                let since = synced.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                let since = since.map(|since| format!(" {}", since.as_secs()));
                format!("{OPEN}{}\n", since.unwrap_or_default())
            }
        };
        let new = folder.join(format!("{NAME}.new"));
        fs::write(&new, text)?;
        fs::rename(new, folder.join(NAME))
    }
}

#[cfg(test)]
mod tests {
    use super::DiskState;
    use std::fs;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn what_is_kept_is_read_and_nothing_else_counts_as_closed() {
        let folder = tempfile::tempdir().unwrap();
        let unknown = DiskState::Open { synced: None };
        assert_eq!(DiskState::of(folder.path()), unknown);
        let synced = Some(UNIX_EPOCH + Duration::from_secs(1_795_000_000));
        for state in [DiskState::Open { synced }, DiskState::Closed, unknown] {
            state.keep(folder.path()).unwrap();
            assert_eq!(DiskState::of(folder.path()), state);
        }
        DiskState::Closed.keep(folder.path()).unwrap();
        DiskState::tear(folder.path()).unwrap();
        assert_eq!(DiskState::of(folder.path()), unknown);
        let copy = tempfile::tempdir().unwrap();
        DiskState::carry(folder.path(), copy.path()).unwrap();
        assert!(DiskState::is_torn(copy.path()));
        fs::remove_file(folder.path().join("disk-torn")).unwrap();
        for text in ["", "clos", "open now", "open 99999999999999999999", "?"] {
            fs::write(folder.path().join("disk-state"), text).unwrap();
            assert_eq!(DiskState::of(folder.path()), unknown, "{text:?}");
        }
    }
}
