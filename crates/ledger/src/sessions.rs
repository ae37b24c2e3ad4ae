//! The list of sessions. What a session is called and where it ran comes from its own small
//! files, how it ended from the index, whether it lives from the kernel's lock: none of it needs
//! a database, and a folder that makes no sense never keeps the others from being listed.

use crate::index::{self, Close, Line};
use crate::journal;
use crate::ledger;
use crate::meta::Meta;
use crate::recovery;
use crate::{LedgerError, SessionReader, StateDir};
use bailiwick_event::{SessionId, Text};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// How a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// Its supervisor is alive.
    Live,
    /// It ended in order.
    Ended,
    /// Its supervisor died.
    Killed,
}

impl SessionState {
    /// The name that the command line uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Ended => "ended",
            Self::Killed => "killed",
        }
    }
}

/// What a listing says about a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its name.
    pub id: SessionId,
    /// The user's own name for it.
    pub name: Option<String>,
    /// Nanoseconds since the Unix epoch; 0 where nobody knows.
    pub started_ns: u64,
    /// The same, where it ended in order.
    pub ended_ns: Option<u64>,
    /// How it stands.
    pub state: SessionState,
    /// As a shell reports it, where the command ended.
    pub exit_code: Option<u8>,
    /// The workspace.
    pub workspace: Text,
    /// The command.
    pub argv: Vec<Text>,
    /// Rows so far.
    pub rows: u64,
    /// Rows with a refusal.
    pub refusals: u64,
    /// Acts that could not be recorded.
    pub lost: u64,
    /// Its folder.
    pub directory: PathBuf,
}

/// Every session of the user.
#[derive(Clone, Debug)]
pub struct Sessions {
    state: StateDir,
}

/// What the index says about a session.
#[derive(Default)]
struct Indexed {
    /// Where it stands among the starts; none where the index does not know it.
    place: Option<usize>,
    name: Option<String>,
    started_ns: u64,
    close: Option<Close>,
}

impl Sessions {
    /// The sessions of a state folder.
    #[must_use]
    pub fn open(state: &StateDir) -> Self {
        let state = state.clone();
        Self { state }
    }

    /// All of them in the order in which they began, which the index knows: a clock can be set
    /// back. A folder that the index does not know stands before the others.
    ///
    /// # Errors
    /// [`LedgerError::Io`] where the folder or the index cannot be read.
    pub fn list(&self) -> Result<Vec<SessionInfo>, LedgerError> {
        let mut indexed = HashMap::new();
        for (place, line) in index::read(&self.state.index())?.into_iter().enumerate() {
            match line {
                Line::Start {
                    id,
                    name,
                    started_ns,
                } => {
                    indexed.entry(id).or_insert(Indexed {
                        place: Some(place),
                        name,
                        started_ns,
                        close: None,
                    });
                }
                Line::Close(close) => {
                    let entry: &mut Indexed = indexed.entry(close.id.clone()).or_default();
                    entry.close = Some(close);
                }
                Line::Removed { id } => drop(indexed.remove(&id)),
            }
        }
        let mut list = Vec::new();
        let sessions = self.state.sessions();
        let failed = || LedgerError::io("read", &sessions);
        for entry in std::fs::read_dir(&sessions).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let id = entry.file_name().to_str().and_then(|s| s.parse().ok());
            if let Some(id) = id {
                let known = indexed.remove(&id).unwrap_or_default();
                list.push((known.place, info(id, entry.path(), known)));
            }
        }
        list.sort_by(|(a_place, a), (b_place, b)| {
            (a_place, a.started_ns, &a.id).cmp(&(b_place, b.started_ns, &b.id))
        });
        Ok(list.into_iter().map(|(_, info)| info).collect())
    }

    /// The session that is meant by its name, the beginning of it, the user's own name for it
    /// (of several, the youngest), or `latest`.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], [`LedgerError::Ambiguous`], and those of [`Sessions::list`].
    pub fn find(&self, query: &str) -> Result<SessionInfo, LedgerError> {
        let mut list = self.list()?;
        let not_found = || LedgerError::NotFound(query.to_owned());
        if query == "latest" {
            return list.pop().ok_or_else(not_found);
        }
        let exact = |s: &SessionInfo| s.id.as_str() == query || s.name.as_deref() == Some(query);
        if let Some(at) = list.iter().rposition(exact) {
            return Ok(list.swap_remove(at));
        }
        list.retain(|s| !query.is_empty() && s.id.as_str().starts_with(query));
        match list.len() {
            0 => Err(not_found()),
            1 => list.pop().ok_or_else(not_found),
            _ => Err(LedgerError::Ambiguous {
                query: query.to_owned(),
                candidates: list.into_iter().map(|s| s.id).collect(),
            }),
        }
    }

    /// The folder of the session that goes on under a name; none where there is none. Looks at that
    /// name alone, however many sessions there are.
    ///
    /// # Errors
    /// [`LedgerError::Io`] where the index cannot be read.
    pub fn running(&self, name: &str) -> Result<Option<PathBuf>, LedgerError> {
        if !self.state.index().exists() {
            return Ok(None);
        }
        let id = ledger::running(&self.state, name)?;
        Ok(id.map(|id| self.state.sessions().join(id.as_str())))
    }

    /// The record of a session.
    ///
    /// # Errors
    /// Those of [`SessionReader::open`].
    pub fn reader(&self, id: &SessionId) -> Result<SessionReader, LedgerError> {
        SessionReader::open(&self.state, id)
    }

    /// Removes a session's folder with everything in it; private caches of the workspace stay,
    /// other sessions use them too.
    ///
    /// # Errors
    /// [`LedgerError::Live`], [`LedgerError::NotFound`], [`LedgerError::Io`].
    pub fn remove(&self, id: &SessionId) -> Result<(), LedgerError> {
        let directory = self.state.sessions().join(id.as_str());
        if !directory.is_dir() {
            return Err(LedgerError::NotFound(id.to_string()));
        }
        if journal::is_live(&directory.join("journal")) {
            return Err(LedgerError::Live(id.clone()));
        }
        // The index first: a record that is gone without a word would look like tampering.
        index::append(&self.state.index(), &Line::Removed { id: id.clone() })?;
        std::fs::remove_dir_all(&directory).map_err(LedgerError::io("remove", &directory))
    }
}

fn info(id: SessionId, directory: PathBuf, known: Indexed) -> SessionInfo {
    let path = directory.join("journal");
    let meta = Meta::read(&directory, &id);
    let state = match (journal::is_live(&path), &known.close) {
        (true, _) => SessionState::Live,
        (false, Some(_)) => SessionState::Ended,
        (false, None) => SessionState::Killed,
    };
    let (rows, refusals, lost) = match &known.close {
        Some(close) => (close.rows, close.refusals, close.lost),
        None => counts(&path),
    };
    let meta_name = meta.as_ref().and_then(|m| m.name.clone());
    SessionInfo {
        name: known.name.or(meta_name),
        started_ns: meta.as_ref().map_or(known.started_ns, |m| m.started_ns),
        ended_ns: known.close.as_ref().map(|close| close.ended_ns),
        state,
        exit_code: known.close.as_ref().and_then(|close| close.exit),
        workspace: meta
            .as_ref()
            .map(|m| m.workspace.clone())
            .unwrap_or_default(),
        argv: meta.map(|m| m.argv).unwrap_or_default(),
        rows,
        refusals,
        lost,
        id,
        directory,
    }
}

/// What a journal's header says about rows, refusals and losses; zeros where it says nothing.
fn counts(path: &Path) -> (u64, u64, u64) {
    let header = File::open(path).and_then(|file| recovery::header(&file));
    match header {
        Ok(Some(header)) => {
            let slot = header.slot;
            let rows = slot.map_or(0, |s| s.rows);
            (rows, slot.map_or(0, |s| s.refusals), header.lost)
        }
        _ => (0, 0, 0),
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
