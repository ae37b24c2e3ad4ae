//! `session.db`: the record in the form that people query. The JSON of a row is kept exactly as
//! it was hashed; the columns beside it repeat parts of it for queries and prove nothing by
//! themselves. Rows are only ever added; the triggers that see to it stop mistakes, the hash
//! chain shows intent.

use crate::LedgerError;
use crate::chain::Hash;
use bailiwick_event::Event;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Statement, params};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

/// The steps from nothing to the present schema; `user_version` counts those that were made.
/// A step that was released is never changed.
pub(crate) const STEPS: [&str; 2] = [
    "CREATE TABLE session (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
     CREATE TABLE events (
         id INTEGER PRIMARY KEY,
         time_ns INTEGER NOT NULL,
         boundary TEXT NOT NULL,
         verdict TEXT NOT NULL,
         rule TEXT NOT NULL,
         origin TEXT NOT NULL,
         resource TEXT NOT NULL,
         remedy TEXT NOT NULL,
         event TEXT NOT NULL,
         hash BLOB NOT NULL
     );
     CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
         BEGIN SELECT RAISE(ABORT, 'the record of a session is append-only'); END;
     CREATE TRIGGER events_are_not_removed BEFORE DELETE ON events
         BEGIN SELECT RAISE(ABORT, 'the record of a session is append-only'); END;
     CREATE TRIGGER events_are_not_replaced BEFORE INSERT ON events
         WHEN EXISTS (SELECT 1 FROM events WHERE id = NEW.id)
         BEGIN SELECT RAISE(ABORT, 'the record of a session is append-only'); END;",
    "CREATE INDEX events_refused ON events (id) WHERE verdict = 'deny';
     CREATE INDEX events_boundary ON events (boundary, id);",
];

/// Opens the database for adding rows; makes it, or brings it to the present schema.
pub(crate) fn open_to_write(path: &Path) -> Result<Connection, LedgerError> {
    // SQLite would give it the mode of the umask.
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(LedgerError::io("create", path))?;
    let mut connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// Opens the database for reading; none where there is none yet.
pub(crate) fn open_to_read(path: &Path) -> Result<Option<Connection>, LedgerError> {
    if !path.exists() {
        return Ok(None);
    }
    // Not SQLITE_OPEN_READ_ONLY: a reader of a WAL database must be able to make its -shm file.
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let version = version(&connection).map_err(LedgerError::database(path))?;
    if version > STEPS.len() as i64 {
        let path = path.to_owned();
        return Err(LedgerError::Newer { path, version });
    }
    // The writer has made the file, but not yet its tables.
    if version == 0 {
        return Ok(None);
    }
    connection
        .pragma_update(None, "query_only", true)
        .map_err(LedgerError::database(path))?;
    Ok(Some(connection))
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, LedgerError> {
    let open = || {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        // The file is hostile input: its schema must not call functions.
        connection.pragma_update(None, "trusted_schema", false)?;
        Ok(connection)
    };
    open().map_err(LedgerError::database(path))
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Brings the schema to the present version.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), LedgerError> {
    let database = || LedgerError::database(path);
    let current = STEPS.len() as i64;
    let found = version(connection).map_err(database())?;
    if found > current || found < 0 {
        let path = path.to_owned();
        let version = found;
        return Err(LedgerError::Newer { path, version });
    }
    // A database without rows has nothing to lose on a power failure, and five syncs to save.
    let sync = if found == 0 { "off" } else { "normal" };
    connection
        .pragma_update(None, "synchronous", sync)
        .map_err(database())?;
    connection
        .pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))
        .map_err(database())?;
    if found < current {
        let step = |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            for step in &STEPS[found as usize..] {
                transaction.execute_batch(step)?;
            }
            transaction.pragma_update(None, "user_version", current)?;
            transaction.commit()
        };
        step(connection).map_err(database())?;
    }
    connection
        .pragma_update(None, "synchronous", "normal")
        .map_err(database())
}

/// The statement that adds a row.
pub(crate) fn insertion(connection: &Connection) -> rusqlite::Result<Statement<'_>> {
    connection.prepare(
        "INSERT INTO events
         (id, time_ns, boundary, verdict, rule, origin, resource, remedy, event, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )
}

/// Adds a row.
pub(crate) fn insert(
    statement: &mut Statement<'_>,
    event: &Event,
    json: &str,
    hash: &Hash,
) -> rusqlite::Result<()> {
    let columns = Columns::of(event);
    statement.execute(params![
        event.id as i64,
        event.time_ns as i64,
        columns.boundary,
        columns.verdict,
        columns.rule,
        columns.origin,
        columns.resource,
        columns.remedy,
        json,
        hash.as_slice(),
    ])?;
    Ok(())
}

/// The columns that repeat a row for queries.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) boundary: String,
    pub(crate) verdict: String,
    pub(crate) rule: String,
    pub(crate) origin: String,
    pub(crate) resource: String,
    pub(crate) remedy: String,
}

impl Columns {
    pub(crate) fn of(event: &Event) -> Self {
        Self {
            boundary: event.boundary().name().to_owned(),
            verdict: event.decision.verdict.name().to_owned(),
            rule: event.decision.rule.id.clone(),
            origin: event.decision.rule.origin.to_string(),
            resource: event.act.resource(),
            remedy: event.decision.remedy.clone(),
        }
    }
}

/// The number and the hash of the last row.
pub(crate) fn last(connection: &Connection) -> rusqlite::Result<Option<(u64, Hash)>> {
    let last = connection
        .query_row(
            "SELECT id, hash FROM events ORDER BY id DESC LIMIT 1",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)),
        )
        .optional()?;
    // A hash of another length is no hash: what follows will not be chained to it, which shows.
    Ok(last.map(|(id, hash)| {
        let hash = hash.try_into().unwrap_or([0; 32]);
        (u64::try_from(id).unwrap_or(0), hash)
    }))
}

/// A value of the `session` table.
pub(crate) fn value(connection: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    connection
        .query_row("SELECT value FROM session WHERE key = ?1", [key], |row| {
            row.get(0)
        })
        .optional()
}

/// Sets a value of the `session` table.
pub(crate) fn set_value(connection: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    connection
        .execute(
            "INSERT INTO session (key, value) VALUES (?1, ?2)
             ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            [key, value],
        )
        .map(drop)
}

/// The schema as text; two databases of one version have the same.
pub(crate) fn schema(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name")?
        .query_map([], |row| row.get(0))?
        .collect()
}

/// The schema that a version has.
pub(crate) fn expected_schema(version: i64) -> rusqlite::Result<Vec<String>> {
    let connection = Connection::open_in_memory()?;
    let steps = usize::try_from(version).unwrap_or(0).min(STEPS.len());
    for step in &STEPS[..steps] {
        connection.execute_batch(step)?;
    }
    schema(&connection)
}

/// The schema version of a database.
pub(crate) fn schema_version(connection: &Connection) -> rusqlite::Result<i64> {
    version(connection)
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
