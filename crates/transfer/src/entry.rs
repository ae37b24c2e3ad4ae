//! One file, folder or link.

use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The longest path, in bytes (limits.h: `PATH_MAX`).
const PATH: usize = 4096;
/// The longest name, in bytes (limits.h: `NAME_MAX`).
const NAME: usize = 255;
/// The bits of a mode that travel: no set-user-id, no set-group-id, no sticky bit.
pub(crate) const PERMISSIONS: u32 = 0o777;

/// When something was changed: seconds since 1970, nanoseconds.
pub type Modified = (i64, u32);

/// One file, folder or link of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path below the folder; empty for the folder itself.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: Kind,
    /// Its permissions.
    pub mode: u32,
    /// When its contents were changed.
    pub modified: Modified,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A folder; its entries follow.
    Folder,
    /// A file; its contents follow, except in a listing.
    File {
        /// How many bytes it had when it was looked at.
        size: u64,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        target: Vec<u8>,
    },
    /// It is not there any more.
    Gone,
    /// It is there, and cannot be read or is no file.
    Skipped {
        /// Why.
        errno: i32,
    },
    /// Nothing more comes.
    End,
}

/// A path that no entry may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPath;

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a path that leads elsewhere")
    }
}

impl Entry {
    /// An entry without permissions and time.
    pub(crate) fn bare(path: &[u8], kind: Kind) -> Self {
        Self {
            path: path.to_vec(),
            kind,
            mode: 0,
            modified: (0, 0),
        }
    }

    /// That something is not there any more.
    #[must_use]
    pub fn gone(path: &[u8]) -> Self {
        Self::bare(path, Kind::Gone)
    }

    /// What something is, as the kernel says; links are not read, and none for what is neither file, folder
    /// nor link.
    pub(crate) fn of(path: &[u8], stat: &Stat) -> Option<Self> {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Kind::Folder,
            FileType::RegularFile => Kind::File {
                size: u64::try_from(stat.st_size).unwrap_or_default(),
            },
            FileType::Symlink => Kind::Link { target: Vec::new() },
            _ => return None,
        };
        Some(Self {
            path: path.to_vec(),
            kind,
            mode: stat.st_mode & PERMISSIONS,
            modified: (
                stat.st_mtime,
                u32::try_from(stat.st_mtime_nsec).unwrap_or_default(),
            ),
        })
    }

    /// Its path, if it lies below the folder.
    ///
    /// # Errors
    /// It is absolute, has a part that is `.`, `..` or nothing, holds a NUL, or is too long.
    pub fn checked(&self) -> Result<&Path, BadPath> {
        checked(&self.path)
    }

    /// Whether it is as the other was; the time of a folder is that of its entries.
    #[must_use]
    pub fn is_as(&self, other: &Self) -> bool {
        let timeless = matches!(self.kind, Kind::Folder | Kind::Link { .. });
        // A link's permissions mean nothing.
        let open = matches!(self.kind, Kind::Link { .. });
        self.kind == other.kind
            && (timeless || self.modified == other.modified)
            && (open || self.mode == other.mode)
    }
}

/// A path, if it lies below the folder.
pub(crate) fn checked(path: &[u8]) -> Result<&Path, BadPath> {
    let is_name = |name: &[u8]| {
        !matches!(name, b"" | b"." | b"..") && name.len() <= NAME && !name.contains(&0)
    };
    let is_below = path.len() < PATH && path.split(|byte| *byte == b'/').all(is_name);
    match is_below || path.is_empty() {
        true => Ok(Path::new(OsStr::from_bytes(path))),
        false => Err(BadPath),
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
