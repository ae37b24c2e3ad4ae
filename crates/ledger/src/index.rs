//! The index of sessions: one line when a session starts, one when it closes, never changed. The
//! head of each chain stands here as well as in the session, so that a session's folder cannot
//! be rewritten alone. Lines are hostile input: what cannot be read is skipped, and the session
//! that it belonged to is then without an anchor, which shows.

use crate::LedgerError;
use bailiwick_event::SessionId;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// One line of the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum Line {
    /// A session began.
    Start {
        id: SessionId,
        name: Option<String>,
        started_ns: u64,
    },
    /// A session ended in order.
    Close(Close),
    /// A session was removed by the user.
    Removed { id: SessionId },
}

/// What stands in the index about a session that ended in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Close {
    pub(crate) id: SessionId,
    pub(crate) ended_ns: u64,
    pub(crate) rows: u64,
    pub(crate) refusals: u64,
    pub(crate) lost: u64,
    /// How the command ended, where it was started and ended.
    pub(crate) exit: Option<u8>,
    /// The hash of the last row, in hexadecimal.
    pub(crate) head: String,
}

/// Appends a line with one write, so that sessions that end at once do not mix.
pub(crate) fn append(path: &Path, line: &Line) -> Result<(), LedgerError> {
    let file = open(path)?;
    append_to(&file, line).map_err(LedgerError::io("write", path))
}

/// Opens the index for appending.
pub(crate) fn open(path: &Path) -> Result<File, LedgerError> {
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(LedgerError::io("open", path))
}

/// Makes others that want to give or take a name wait until the file is closed.
pub(crate) fn lock(index: &File) -> io::Result<()> {
    Ok(flock(index, FlockOperation::LockExclusive)?)
}

/// Appends a line to an index that was opened.
pub(crate) fn append_to(mut file: &File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let written = file.write(&text)?;
    if written < text.len() {
        return Err(io::ErrorKind::StorageFull.into());
    }
    Ok(())
}

/// Every line that can be read, in order; no lines where there is no index.
pub(crate) fn read(path: &Path) -> Result<Vec<Line>, LedgerError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(parse(&bytes)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(LedgerError::io("read", path)(e)),
    }
}

/// Every line that can be read.
pub(crate) fn parse(bytes: &[u8]) -> Vec<Line> {
    const BEGIN: &[u8] = b"{\"line\":";
    bytes
        .split(|b| *b == b'\n')
        .filter_map(|line| {
            // After a write that a full disk cut short, the next line stands behind the piece;
            // inside a JSON string these bytes could not occur, their quotes would be escaped.
            let whole = serde_json::from_slice(line).ok();
            whole.or_else(|| {
                let at = line.windows(BEGIN.len()).rposition(|w| w == BEGIN)?;
                serde_json::from_slice(&line[at..]).ok()
            })
        })
        .collect()
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
