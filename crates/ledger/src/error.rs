//! Everything that can go wrong with the record, as data. A reader of the message must be able
//! to tell whether the command was wrong, the machine is full, or somebody changed a file.

use crate::Damage;
use bailiwick_event::{Failure, SessionId};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why the ledger did not do what it was asked for.
#[derive(Debug)]
pub enum LedgerError {
    /// A file or folder could not be used.
    Io {
        /// What was tried: `create`, `read`, …
        act: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// `session.db` could not be used.
    Database {
        /// Where.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The journal is full and the writer did not free any of it.
    Overflow {
        /// The folder of the session.
        directory: PathBuf,
        /// Why the writer is not getting on, where it said so.
        cause: Option<String>,
    },
    /// The session was closed, or this process is a child that let go of it.
    Closed,
    /// An event that cannot be written as JSON, or that stays too large when it was shortened.
    Unwritable(String),
    /// The state folder is not the user's alone.
    NotPrivate {
        /// Which folder.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Neither `XDG_STATE_HOME` nor `HOME` names an absolute folder.
    NoHome,
    /// A session's name with characters that it cannot have.
    BadName(String),
    /// A running session has this name.
    NameTaken {
        /// The name.
        name: String,
        /// The session that has it.
        holder: SessionId,
    },
    /// No session is called that.
    NotFound(String),
    /// More than one session is meant.
    Ambiguous {
        /// What was asked for.
        query: String,
        /// The sessions that it could mean.
        candidates: Vec<SessionId>,
    },
    /// A running session cannot be removed.
    Live(SessionId),
    /// `session.db` was written by a newer version.
    Newer {
        /// Where.
        path: PathBuf,
        /// Its schema version.
        version: i64,
    },
    /// The record was changed or torn.
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What was found.
        damage: Damage,
    },
}

/// What to do about a full disk.
const FULL: &str = "\n  free some space there, or set XDG_STATE_HOME to another disk";

impl LedgerError {
    pub(crate) fn io(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { act, path, source }
    }

    pub(crate) fn database(path: &Path) -> impl FnOnce(rusqlite::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Database { path, source }
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { act, path, source } => {
                write!(f, "cannot {act} {}: {source}", path.display())?;
                match source.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => f.write_str(FULL),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => f
                        .write_str(
                            "\n  set XDG_STATE_HOME to a folder of yours that can be written",
                        ),
                    // A file or a link that leads nowhere stands there, or a file system that
                    // has no folders of ours.
                    _ if *act == "create" => f.write_str(
                        "\n  no folder can be made there: move away what stands there, or set \
                         XDG_STATE_HOME to a folder of yours that can be written",
                    ),
                    _ => Ok(()),
                }
            }
            Self::Database { path, source } => {
                write!(f, "cannot use {}: {source}", path.display())?;
                use rusqlite::ErrorCode::{CannotOpen, DiskFull, ReadOnly, SystemIoFailure};
                match source.sqlite_error_code() {
                    // Of a full disk SQLite often says no more than that something failed.
                    Some(DiskFull | SystemIoFailure) => f.write_str(FULL),
                    Some(CannotOpen | ReadOnly) => {
                        f.write_str("\n  its folder must be one that can be written")
                    }
                    _ => Ok(()),
                }
            }
            Self::Overflow { directory, cause } => {
                write!(f, "the journal in {} is full", directory.display())?;
                match cause {
                    Some(cause) => write!(f, " because {cause}"),
                    None => f.write_str(
                        ", and its writer did not free any of it in 2 seconds; the disk may be \
                         too slow: set XDG_STATE_HOME to a faster one",
                    ),
                }
            }
            Self::Closed => f.write_str("the session's record is closed"),
            Self::Unwritable(why) => write!(f, "an event cannot be recorded: {why}"),
            Self::NotPrivate { path, why } => write!(
                f,
                "{} {why}; records are kept only in a folder that nobody else can write: \
                 mend its owner and mode (0700), or set XDG_STATE_HOME to another folder",
                path.display()
            ),
            Self::NoHome => f.write_str(
                "there is no place for records: set XDG_STATE_HOME or HOME to an absolute path",
            ),
            Self::BadName(name) => write!(
                f,
                "\"{}\" cannot be the name of a session: use at most 64 letters, digits, '.', \
                 '_' and '-', beginning with a letter; \"latest\" is taken",
                name.escape_default()
            ),
            Self::NameTaken { name, holder } => write!(
                f,
                "a running session is already called \"{name}\" ({holder}); choose another name, \
                 or end that session first"
            ),
            Self::NotFound(query) => write!(
                f,
                "no session is called \"{}\"; `bailiwick sessions list` shows them",
                query.escape_default()
            ),
            Self::Ambiguous { query, candidates } => {
                let list: Vec<_> = candidates.iter().map(SessionId::as_str).collect();
                write!(
                    f,
                    "\"{}\" could be any of {}; write one of these",
                    query.escape_default(),
                    list.join(", ")
                )
            }
            Self::Live(id) => write!(f, "{id} is still running; end it before you remove it"),
            Self::Newer { path, version } => write!(
                f,
                "{} has schema version {version}, which a newer bailiwick wrote; use that one",
                path.display()
            ),
            Self::Damaged { path, damage } => write!(f, "{}: {damage}", path.display()),
        }
    }
}

impl std::error::Error for LedgerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Database { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::NoHome
            | LedgerError::BadName(_)
            | LedgerError::NameTaken { .. }
            | LedgerError::NotFound(_)
            | LedgerError::Ambiguous { .. }
            | LedgerError::Live(_) => Self::usage(error.to_string()),
            _ => Self::fault(error.to_string()),
        }
    }
}
