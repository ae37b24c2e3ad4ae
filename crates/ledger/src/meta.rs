//! What is known about a session before anything happens in it. It is written once, beside the
//! record and not into it, so that a listing of a thousand sessions opens no database.

use crate::LedgerError;
use crate::shorten::shorten_argv;
use bailiwick_event::{SessionId, Text};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// A meta file is never longer: what is longer was not written by us.
const LONGEST: u64 = 1 << 20;
/// Bytes of a command line that are kept.
const ARGV: usize = 16 * 1024;

/// What a new session is made from.
#[derive(Clone, Copy, Debug)]
pub struct NewSession<'a> {
    /// The user's own name for it; no two running sessions share one.
    pub name: Option<&'a str>,
    /// The workspace.
    pub workspace: &'a Path,
    /// The command.
    pub argv: &'a [Text],
}

/// The file `meta`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meta {
    pub(crate) id: SessionId,
    pub(crate) name: Option<String>,
    /// Nanoseconds since the Unix epoch.
    pub(crate) started_ns: u64,
    pub(crate) workspace: Text,
    pub(crate) argv: Vec<Text>,
    /// The supervisor.
    pub(crate) pid: u32,
    /// The version of the product.
    pub(crate) version: String,
}

impl Meta {
    pub(crate) fn new(id: &SessionId, started_ns: u64, new: &NewSession<'_>) -> Self {
        let mut argv = new.argv.to_vec();
        if argv.iter().map(|word| word.as_bytes().len()).sum::<usize>() > ARGV {
            shorten_argv(&mut argv, ARGV);
        }
        Self {
            id: id.clone(),
            name: new.name.map(str::to_owned),
            started_ns,
            workspace: Text::from(new.workspace.as_os_str()),
            argv,
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Reads the file; none where it is missing, torn or another session's.
    pub(crate) fn read(directory: &Path, id: &SessionId) -> Option<Self> {
        let mut text = Vec::new();
        File::open(directory.join("meta"))
            .ok()?
            .take(LONGEST)
            .read_to_end(&mut text)
            .ok()?;
        let meta: Self = serde_json::from_slice(&text).ok()?;
        (meta.id == *id).then_some(meta)
    }
}

/// Checks a name that a user gives a session.
pub(crate) fn check_name(name: &str) -> Result<(), LedgerError> {
    let fine = name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        && name != "latest";
    if fine {
        Ok(())
    } else {
        Err(LedgerError::BadName(name.to_owned()))
    }
}
