//! Reading a record. A row is where it happens to be: in the database, or in the journal as long
//! as nobody has moved it. A reader looks at both and never disturbs the supervisor, and it
//! gives out events that it parsed, never a file's own bytes: those may hold a terminal's
//! commands.

use crate::bodies;
use crate::chain;
use crate::database;
use crate::recovery::{self, Damage};
use crate::replay;
use crate::{LedgerError, StateDir, Verification, verification};
use bailiwick_event::{Act, Boundary, Event, SessionId};
use rusqlite::Connection;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Which rows are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only refusals.
    pub denied: bool,
    /// Only files that were left for programs of the host.
    pub handover: bool,
    /// Only those of one boundary.
    pub boundary: Option<Boundary>,
    /// Only those with a higher number; to follow a session, the number of the last row seen.
    pub after_id: u64,
    /// At most so many.
    pub limit: Option<u64>,
}

impl Filter {
    fn wants(&self, event: &Event) -> bool {
        event.id > self.after_id
            && (!self.denied || event.is_refusal())
            && (!self.handover || matches!(event.act, Act::Left { .. }))
            && self.boundary.is_none_or(|b| b == event.boundary())
    }
}

/// The record of one session, alive or not.
#[derive(Debug)]
pub struct SessionReader {
    id: SessionId,
    directory: PathBuf,
    index: PathBuf,
    damage: Option<Damage>,
}

impl SessionReader {
    /// Opens the record; that of a dead session is first completed from its journal.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`]; [`LedgerError::Newer`]; [`LedgerError::Io`] and
    /// [`LedgerError::Database`] where it cannot be read.
    pub fn open(state: &StateDir, id: &SessionId) -> Result<Self, LedgerError> {
        let directory = state.sessions().join(id.as_str());
        if !directory.is_dir() {
            return Err(LedgerError::NotFound(id.to_string()));
        }
        let damage = match replay::replay(&directory, id) {
            Ok(damage) => damage,
            // It can be read from the journal as well, for instance on a full disk.
            Err(LedgerError::Io { .. } | LedgerError::Database { .. }) => None,
            Err(e) => return Err(e),
        };
        Ok(Self {
            id: id.clone(),
            directory,
            index: state.index(),
            damage,
        })
    }

    /// The session's name.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The session's folder.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What was wrong with the journal when it was replayed; rows behind it are missing here.
    #[must_use]
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// The effective policy of the session, as text; none where the supervisor was killed before it
    /// had kept it.
    ///
    /// # Errors
    /// [`LedgerError::Io`].
    pub fn policy_lock(&self) -> Result<Option<String>, LedgerError> {
        let path = self.directory.join("policy.lock");
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(LedgerError::io("read", &path)(error)),
        }
    }

    /// A body that was kept, by its name; none where it is not there, or is no longer what it was.
    #[must_use]
    pub fn body(&self, hash: &str) -> Option<Vec<u8>> {
        bodies::read(&self.directory, hash)
    }

    /// The rows that a filter wants, oldest first.
    ///
    /// # Errors
    /// [`LedgerError::Database`]; [`LedgerError::Damaged`] where a row is no event.
    pub fn events(&self, filter: &Filter) -> Result<Vec<Event>, LedgerError> {
        let mut events = Vec::new();
        self.each(filter, |event| {
            events.push(event);
            Ok(())
        })?;
        Ok(events)
    }

    /// One row; none where the session has no row of that number.
    ///
    /// # Errors
    /// Those of [`SessionReader::events`].
    pub fn event(&self, id: u64) -> Result<Option<Event>, LedgerError> {
        let Some(after_id) = id.checked_sub(1) else {
            return Ok(None);
        };
        let filter = Filter {
            after_id,
            limit: Some(1),
            ..Filter::default()
        };
        Ok(self.events(&filter)?.pop().filter(|event| event.id == id))
    }

    /// Writes the rows that a filter wants as JSON, one on a line; returns the number of the
    /// last one that was looked at, to go on from.
    ///
    /// # Errors
    /// Those of [`SessionReader::events`]; [`LedgerError::Io`] where `out` fails.
    pub fn stream_jsonl(&self, filter: &Filter, out: &mut impl Write) -> Result<u64, LedgerError> {
        let mut last = filter.after_id;
        self.each(filter, |event| {
            let mut line =
                serde_json::to_vec(&event).map_err(|e| LedgerError::Unwritable(e.to_string()))?;
            line.push(b'\n');
            out.write_all(&line)
                .map_err(LedgerError::io("write", Path::new("the output")))?;
            last = event.id;
            Ok(())
        })?;
        Ok(last)
    }

    /// Checks the record against its hash chain, its journal and the index.
    ///
    /// # Errors
    /// Only where the record cannot be read at all; what is wrong with it is in the result.
    pub fn verify(&self) -> Result<Verification, LedgerError> {
        verification::verify(&self.directory, &self.index, &self.id)
    }

    /// Calls `take` with each row that the filter wants, without keeping them all.
    ///
    /// # Errors
    /// Those of [`SessionReader::events`], and those of `take`.
    pub fn each(
        &self,
        filter: &Filter,
        mut take: impl FnMut(Event) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        // The journal first: what the writer takes from it meanwhile is then in the database.
        let journal = recovery::view(&self.directory.join("journal"))?;
        let mut left = filter.limit.unwrap_or(u64::MAX);
        let path = self.directory.join("session.db");
        let mut last = (0, chain::genesis(&self.id));
        if let Some(connection) = database::open_to_read(&path)? {
            let transaction = connection
                .unchecked_transaction()
                .map_err(LedgerError::database(&path))?;
            if let Some(found) =
                database::last(&transaction).map_err(LedgerError::database(&path))?
            {
                last = found;
            }
            self.stored(&transaction, &path, filter, &mut left, &mut take)?;
        }
        if let Ok(view) = journal {
            let (rows, _) = view.rows_after(last.0, &last.1);
            for row in rows {
                if left > 0 && filter.wants(&row.event) {
                    left -= 1;
                    take(row.event)?;
                }
            }
        }
        Ok(())
    }

    /// The rows that are in the database.
    fn stored(
        &self,
        connection: &Connection,
        path: &Path,
        filter: &Filter,
        left: &mut u64,
        take: &mut impl FnMut(Event) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let failed = || LedgerError::database(path);
        let denied = if filter.denied {
            " AND verdict = 'deny'"
        } else {
            ""
        };
        let boundary = if filter.boundary.is_some() {
            " AND boundary = ?2"
        } else {
            " AND ?2 = ''"
        };
        let query =
            format!("SELECT id, event FROM events WHERE id > ?1{denied}{boundary} ORDER BY id");
        let mut statement = connection.prepare(&query).map_err(failed())?;
        let after = i64::try_from(filter.after_id).unwrap_or(i64::MAX);
        let name = filter.boundary.map_or("", Boundary::name);
        let mut rows = statement.query((after, name)).map_err(failed())?;
        while *left > 0 {
            let Some(row) = rows.next().map_err(failed())? else {
                break;
            };
            let id = row.get::<_, i64>(0).map_err(failed())? as u64;
            let json = row
                .get_ref(1)
                .ok()
                .and_then(|json| json.as_bytes().ok().map(<[u8]>::to_vec));
            let event = json.and_then(|json| serde_json::from_slice::<Event>(&json).ok());
            let Some(event) = event else {
                let damage = Damage::Chain { row: id };
                return Err(LedgerError::Damaged {
                    path: path.to_owned(),
                    damage,
                });
            };
            if filter.wants(&event) {
                *left -= 1;
                take(event)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
