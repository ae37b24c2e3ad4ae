//! The list of sessions. What a session is called and where it ran comes from its own small
//! files, how it ended from the index, whether it lives from the kernel's lock: none of it needs
//! a database, and a folder that makes no sense never keeps the others from being listed.

use crate::index::{self, Close, Line};
use crate::journal;
use crate::meta::{Meta, check_name};
use crate::names;
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
        Ok(self.newest(usize::MAX)?.0)
    }

    /// So many of them, the youngest, and how many older ones there are. Looks into the folders of
    /// these alone.
    ///
    /// # Errors
    /// Those of [`Sessions::list`].
    pub fn newest(&self, most: usize) -> Result<(Vec<SessionInfo>, usize), LedgerError> {
        let mut entries = self.entries()?;
        let older = entries.len().saturating_sub(most);
        let newest = entries.drain(older..).map(|entry| self.info(entry));
        Ok((newest.collect(), older))
    }

    /// What the index and the names of the folders say, in the order of [`Sessions::list`].
    fn entries(&self) -> Result<Vec<(SessionId, Indexed)>, LedgerError> {
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
        let mut entries = Vec::new();
        let sessions = self.state.sessions();
        let failed = || LedgerError::io("read", &sessions);
        for entry in std::fs::read_dir(&sessions).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let id: Option<SessionId> = entry.file_name().to_str().and_then(|s| s.parse().ok());
            if let Some(id) = id {
                let known = indexed.remove(&id).unwrap_or_default();
                entries.push((id, known));
            }
        }
        // An id begins with the second in which its session started.
        entries.sort_by(|(a, known_a), (b, known_b)| (known_a.place, a).cmp(&(known_b.place, b)));
        Ok(entries)
    }

    /// The session that is meant by its name, the beginning of it, the user's own name for it
    /// (of several, the youngest), or `latest`.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], [`LedgerError::Ambiguous`], and those of [`Sessions::list`].
    pub fn find(&self, query: &str) -> Result<SessionInfo, LedgerError> {
        let mut entries = self.entries()?;
        let not_found = || LedgerError::NotFound(query.to_owned());
        if query == "latest" {
            let latest = entries.pop().ok_or_else(not_found)?;
            return Ok(self.info(latest));
        }
        let exact = |(id, known): &(SessionId, Indexed)| {
            id.as_str() == query || self.name_of(id, known).as_deref() == Some(query)
        };
        if let Some(at) = entries.iter().rposition(exact) {
            return Ok(self.info(entries.swap_remove(at)));
        }
        entries.retain(|(id, _)| !query.is_empty() && id.as_str().starts_with(query));
        match entries.len() {
            0 => Err(not_found()),
            1 => entries
                .pop()
                .map(|entry| self.info(entry))
                .ok_or_else(not_found),
            _ => Err(LedgerError::Ambiguous {
                query: query.to_owned(),
                candidates: entries.into_iter().map(|(id, _)| id).collect(),
            }),
        }
    }

    /// The session that is meant, where only one can be: of several with one name none is.
    ///
    /// # Errors
    /// Those of [`Sessions::find`].
    pub fn find_only(&self, query: &str) -> Result<SessionInfo, LedgerError> {
        let mut named = self.entries()?;
        named.retain(|(id, known)| self.name_of(id, known).as_deref() == Some(query));
        match named.len() {
            0 | 1 => self.find(query),
            _ => Err(LedgerError::Ambiguous {
                query: query.to_owned(),
                candidates: named.into_iter().map(|(id, _)| id).collect(),
            }),
        }
    }

    /// The user's own name for a session; its folder knows it where the index does not know the
    /// session.
    fn name_of(&self, id: &SessionId, known: &Indexed) -> Option<String> {
        match known.place {
            Some(_) => known.name.clone(),
            None => Meta::read(&self.folder(id), id).and_then(|meta| meta.name),
        }
    }

    fn folder(&self, id: &SessionId) -> PathBuf {
        self.state.sessions().join(id.as_str())
    }

    fn info(&self, (id, known): (SessionId, Indexed)) -> SessionInfo {
        let directory = self.folder(&id);
        info(id, directory, known)
    }

    /// The folder of the session that goes on under a name; none where there is none. Looks at that
    /// name alone, however many sessions there are.
    ///
    /// # Errors
    /// [`LedgerError::Io`] where it cannot be told.
    pub fn running(&self, name: &str) -> Result<Option<PathBuf>, LedgerError> {
        // What nobody can be called is perhaps an id.
        if check_name(name).is_err() {
            return Ok(None);
        }
        let id = names::running(&self.state, name)?;
        Ok(id.map(|id| self.folder(&id)))
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
        let directory = self.folder(id);
        if !directory.is_dir() {
            return Err(LedgerError::NotFound(id.to_string()));
        }
        if journal::is_live(&directory.join("journal")) {
            return Err(LedgerError::Live(id.clone()));
        }
        // The index first: a record that is gone without a word would look like tampering.
        let path = self.state.index();
        let index = index::open(&path)?;
        let removed = Line::Removed { id: id.clone() };
        index::append_to(&index, &removed).map_err(LedgerError::io("write", &path))?;
        if let Some(name) = Meta::read(&directory, id).and_then(|meta| meta.name)
            && check_name(&name).is_ok()
        {
            // A killed session's name is still its own, until another takes it.
            index::lock(&index).map_err(LedgerError::io("lock", &path))?;
            names::take_back(&self.state.name(&name), id)?;
        }
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
