//! What a supervisor left in its journal is moved to `session.db` by the first reader that finds
//! it dead: the end of a run is not the time to write a database. Readers that come at once take
//! turns at a lock of their own, so that a session never looks alive because it is being read.

use crate::LedgerError;
use crate::chain;
use crate::database;
use crate::journal;
use crate::recovery::{self, Damage, View};
use bailiwick_event::SessionId;
use rustix::fs::{FlockOperation, flock};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The key of the `session` table that says up to which position the journal was replayed.
pub(crate) const REPLAYED: &str = "replayed";

/// Moves the rows of a dead session's journal to its database; nothing where it is alive or was
/// replayed. Returns what is wrong with the journal.
pub(crate) fn replay(directory: &Path, id: &SessionId) -> Result<Option<Damage>, LedgerError> {
    let path = directory.join("journal");
    if journal::is_live(&path) || !recovery::begun(directory) {
        return Ok(None);
    }
    let lock_path = directory.join("replay.lock");
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&lock_path)
        .map_err(LedgerError::io("create", &lock_path))?;
    flock(&lock, FlockOperation::LockExclusive)
        .map_err(|e| LedgerError::io("lock", &lock_path)(e.into()))?;
    let view = match recovery::view(&path)? {
        Ok(view) => view,
        Err(damage) => return Ok(Some(damage)),
    };
    let database = directory.join("session.db");
    let failed = || LedgerError::database(&database);
    let position = view.header.committed.to_string();
    let existing = database::open_to_read(&database)?;
    let fresh = existing.is_none();
    let known = match existing {
        Some(reader) => database::value(&reader, REPLAYED).map_err(failed())?,
        None => None,
    };
    if known.as_ref() == Some(&position) {
        return Ok(None);
    }
    let stored = store(&database, &view, id, &position, fresh);
    if fresh && stored.is_err() {
        // Half a database, on a full disk, would be in the way of a reader of the journal.
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(directory.join(format!("session.db{end}")));
        }
    }
    stored
}

/// Adds the rows of a journal to the database.
fn store(
    path: &Path,
    view: &View,
    id: &SessionId,
    position: &str,
    fresh: bool,
) -> Result<Option<Damage>, LedgerError> {
    let failed = || LedgerError::database(path);
    let mut connection = database::open_to_write(path)?;
    if fresh {
        // Every row stands in the journal as well: a sync would only make the reader wait.
        connection
            .pragma_update(None, "synchronous", "off")
            .map_err(failed())?;
    }
    let mut store = || -> rusqlite::Result<Option<Damage>> {
        let transaction = connection.transaction()?;
        let (last, head) = database::last(&transaction)?.unwrap_or((0, chain::genesis(id)));
        let (rows, damage) = view.rows_after(last, &head);
        let mut insertion = database::insertion(&transaction)?;
        for row in &rows {
            database::insert(&mut insertion, &row.event, &row.json, &row.hash)?;
        }
        drop(insertion);
        database::set_value(&transaction, REPLAYED, position)?;
        transaction.commit()?;
        Ok(damage)
    };
    store().map_err(failed())
}
