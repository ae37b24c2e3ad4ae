//! The thread that moves rows from the journal to `session.db`. It may be slow or fail: rows
//! stay in the journal until they are committed, and only then is their room given back. It
//! sleeps while nothing is recorded and works in batches while something is.

use crate::database;
use crate::layout::{Frame, RING};
use crate::ledger::Shared;
use crate::mapping::Mapping;
use bailiwick_event::Event;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use std::io;
use std::sync::{Arc, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How long rows are gathered before they are committed together.
const GATHER: Duration = Duration::from_millis(50);
/// How long the thread waits before it tries again what failed.
const RETRY: Duration = Duration::from_millis(100);
/// Bytes of one transaction: bounds what `close` waits for.
const BATCH: usize = RING / 4;

pub(crate) fn spawn(shared: Arc<Shared>, mapping: Arc<Mapping>) -> io::Result<JoinHandle<()>> {
    Builder::new()
        .name("ledger".into())
        .spawn(move || run(&shared, &mapping))
}

fn run(shared: &Shared, mapping: &Mapping) {
    let mut connection = None;
    while let Some(rows) = next(shared, mapping) {
        let result = store(shared, &mut connection, &rows.bytes);
        let mut state = shared.lock();
        match result {
            Ok(taken) => {
                state.drained = rows.start + taken as u64;
                mapping.drained(state.drained);
                state.writer_error = None;
                state.stalled = false;
                shared.space.notify_all();
            }
            Err(why) => {
                state.writer_error = Some(why);
                connection = None;
                let wait = shared.work.wait_timeout_while(state, RETRY, |s| !s.stop);
                drop(wait.unwrap_or_else(PoisonError::into_inner));
            }
        }
    }
    if let Some(connection) = connection {
        // The next reader merges the write-ahead log; the end of a run does not wait for it.
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    }
}

/// Rows as they stand in the ring from a position on.
struct Rows {
    start: u64,
    bytes: Vec<u8>,
}

/// Waits for rows; none when the thread has to stop.
fn next(shared: &Shared, mapping: &Mapping) -> Option<Rows> {
    let mut state = shared.lock();
    while state.committed == state.drained && !state.stop {
        state.writer_idle = true;
        state = shared.work_on(state);
    }
    state.writer_idle = false;
    let gather = |s: &mut crate::state::State| !s.stop && !s.half_full();
    let waited = shared.work.wait_timeout_while(state, GATHER, gather);
    let state = waited.unwrap_or_else(PoisonError::into_inner).0;
    if state.stop {
        return None;
    }
    let (start, end) = (state.drained, state.committed);
    drop(state);
    // The producer writes only behind `committed`, or where `drained` gave room.
    let mut bytes = vec![0; (end - start).min(RING as u64) as usize];
    mapping.read_ring(start, &mut bytes);
    Some(Rows { start, bytes })
}

/// Commits whole rows, at most a batch; returns their bytes.
fn store(
    shared: &Shared,
    connection: &mut Option<Connection>,
    bytes: &[u8],
) -> Result<usize, String> {
    let path = shared.directory.join("session.db");
    let mut open = match connection.take() {
        Some(open) => open,
        None => database::open_to_write(&path).map_err(|e| e.to_string())?,
    };
    let mut taken = 0;
    let mut frames = Vec::new();
    while taken < bytes.len() && taken < BATCH {
        // The supervisor wrote whole frames; that one is not means that the file was changed.
        let changed = || "its journal was changed by another process".to_owned();
        let frame = Frame::parse(&bytes[taken..]).ok_or_else(changed)?;
        let json = std::str::from_utf8(frame.json).map_err(|_| changed())?;
        let event: Event = serde_json::from_str(json).map_err(|_| changed())?;
        frames.push((event, json, frame.hash));
        taken += frame.len;
    }
    let mut commit = || -> rusqlite::Result<()> {
        let transaction = open.transaction()?;
        let mut insertion = database::insertion(&transaction)?;
        for (event, json, hash) in &frames {
            database::insert(&mut insertion, event, json, hash)?;
        }
        drop(insertion);
        transaction.commit()
    };
    commit().map_err(|e| format!("{} cannot be written: {e}", path.display()))?;
    *connection = Some(open);
    Ok(taken)
}
