//! Recording. One mutex orders the rows, so that their numbers, their hashes and their places in
//! the journal agree; nothing that can block on a disk happens under it, except when the journal
//! is full, and then for a bounded time. What could not be kept is counted, told in the next row
//! that can, and the caller learns it before it answers.

use crate::bodies;
use crate::chain;
use crate::index::{self, Close, Line};
use crate::journal::Journal;
use crate::mapping::Mapping;
use crate::meta::{Meta, NewSession, check_name};
use crate::state::State;
use crate::state_dir::make_private;
use crate::{LedgerError, StateDir, names, writer};
use bailiwick_event::{Act, Boundary, Decision, Event, Origin, RuleRef, SessionId};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The record of a running session. Clones are the same record.
#[derive(Clone)]
pub struct Ledger(Arc<Handle>);

/// The last one stops the writer.
struct Handle(Arc<Shared>);

/// What the writer thread has as well.
pub(crate) struct Shared {
    pub(crate) id: SessionId,
    pub(crate) directory: PathBuf,
    index: PathBuf,
    /// The link of its name, if it has one.
    name: Option<PathBuf>,
    state: Mutex<State>,
    /// There is work for the writer, or it has to stop.
    pub(crate) work: Condvar,
    /// The writer got on.
    pub(crate) space: Condvar,
    /// Bytes of bodies that were kept.
    kept: Mutex<u64>,
}

/// What was recorded so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows.
    pub rows: u64,
    /// Rows with a refusal.
    pub refusals: u64,
    /// Acts that could not be recorded.
    pub lost: u64,
    /// Rows of each boundary that has any.
    pub by_boundary: BTreeMap<Boundary, u64>,
}

/// A journal that is made before there is a session for it: most of what the start of a record takes
/// the disk. It has no name; whoever drops it leaves nothing.
pub struct Blank {
    journal: Journal,
    mapping: Mapping,
}

impl Blank {
    /// Makes one.
    ///
    /// # Errors
    /// [`LedgerError::Io`] where the state folder cannot be written, or its file system has no files
    /// without a name.
    pub fn new(state: &StateDir) -> Result<Self, LedgerError> {
        let sessions = state.sessions();
        make_private(&sessions)?;
        Self::of(Journal::unnamed(&sessions)?, &sessions)
    }

    fn of(journal: Journal, path: &Path) -> Result<Self, LedgerError> {
        let mapping = Mapping::new(journal.file()).map_err(LedgerError::io("map", path))?;
        Ok(Self { journal, mapping })
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // The state is changed only after the last step that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn work_on<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.work
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// Makes the folder and the journal of a new session, and names it in the index.
    ///
    /// # Errors
    /// [`LedgerError::BadName`], [`LedgerError::NameTaken`]; [`LedgerError::Io`] where the state
    /// folder cannot be written.
    pub fn create(state: &StateDir, new: &NewSession<'_>) -> Result<Self, LedgerError> {
        Self::create_in(state, new, None)
    }

    /// The same, where a journal may have been made in advance.
    ///
    /// # Errors
    /// As [`Ledger::create`].
    pub fn create_in(
        state: &StateDir,
        new: &NewSession<'_>,
        blank: Option<Blank>,
    ) -> Result<Self, LedgerError> {
        let index_path = state.index();
        let index = index::open(&index_path)?;
        if let Some(name) = new.name {
            check_name(name)?;
            // Held until the start is in the index: of two that come at once, one is refused.
            index::lock(&index).map_err(LedgerError::io("lock", &index_path))?;
            if let Some(holder) = names::running(state, name)? {
                let name = name.to_owned();
                return Err(LedgerError::NameTaken { name, holder });
            }
        }
        let started_ns = now_ns();
        let (id, directory) = make_directory(state, started_ns)?;
        let line = Line::Start {
            id: id.clone(),
            name: new.name.map(str::to_owned),
            started_ns,
        };
        // The index first: a start without a folder is no session, and one that was killed here is
        // known to have begun.
        let made = index::append_to(&index, &line)
            .map_err(LedgerError::io("write", &index_path))
            .and_then(|()| Self::fill(&id, &directory, started_ns, new, blank))
            .and_then(|filled| match new.name {
                Some(name) => names::give(state, name, &id).map(|()| filled),
                None => Ok(filled),
            });
        let (journal, mapping) = made.inspect_err(|_| {
            let _ = std::fs::remove_dir_all(&directory);
        })?;
        let name = new.name.map(|name| state.name(name));
        let state = State::new(journal, Arc::new(mapping), chain::genesis(&id));
        Ok(Self(Arc::new(Handle(Arc::new(Shared {
            id,
            directory,
            index: index_path,
            name,
            state: Mutex::new(state),
            work: Condvar::new(),
            space: Condvar::new(),
            kept: Mutex::new(0),
        })))))
    }

    fn fill(
        id: &SessionId,
        directory: &Path,
        started_ns: u64,
        new: &NewSession<'_>,
        blank: Option<Blank>,
    ) -> Result<(Journal, Mapping), LedgerError> {
        let path = directory.join("journal");
        let named = blank.filter(|blank| blank.journal.name(&path).is_ok());
        let Blank { journal, mapping } = match named {
            Some(blank) => blank,
            None => Blank::of(Journal::create(&path)?, &path)?,
        };
        let meta = serde_json::to_vec(&Meta::new(id, started_ns, new))
            .map_err(|e| LedgerError::Unwritable(e.to_string()))?;
        write_new(&directory.join("meta"), &meta)?;
        Ok((journal, mapping))
    }

    /// Keeps the effective policy as text beside the record, which has its hash. It may take long, so
    /// that it is not a part of the start.
    ///
    /// # Errors
    /// [`LedgerError::Io`].
    pub fn keep_policy(&self, text: &str) -> Result<(), LedgerError> {
        write_new(&self.directory().join("policy.lock"), text.as_bytes())
    }

    /// Keeps a body beside the record; gives its name, none where the session has kept as much as it
    /// may (256 MiB, compressed).
    ///
    /// # Errors
    /// [`LedgerError::Io`].
    pub fn keep_body(&self, body: &[u8]) -> Result<Option<String>, LedgerError> {
        let used = self.0.0.kept.lock();
        let mut used = used.unwrap_or_else(PoisonError::into_inner);
        bodies::keep(self.directory(), body, &mut used)
    }

    /// The session's name.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.0.0.id
    }

    /// The session's folder.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.0.0.directory
    }

    /// Records an act and what was decided about it. When it returns, the row survives the
    /// death of this process, but not a power failure.
    ///
    /// # Errors
    /// [`LedgerError::Overflow`] where the journal stayed full for 2 seconds; [`LedgerError::Io`]
    /// where the disk is full; [`LedgerError::Closed`]. The act is then not recorded, is counted
    /// as lost, and must not be answered with an allow.
    pub fn record(&self, act: Act, decision: Decision) -> Result<Event, LedgerError> {
        // A row about acts that were lost elsewhere stands for all of them.
        let acts = match act {
            Act::Overflow { lost } => lost,
            _ => 1,
        };
        let event = Event {
            id: 0,
            time_ns: now_ns(),
            act,
            decision,
        };
        let state = self.0.0.lock();
        if state.journal.is_none() || state.stop {
            return Err(LedgerError::Closed);
        }
        let (mut state, result) = self.append(state, event);
        if result.is_err() {
            state.lose(acts);
        }
        if state.half_full() && state.writer.is_none() {
            // Why it cannot be started is told when the journal is full.
            state.writer_error = self.spawn(&mut state).err().map(|e| e.to_string());
        }
        if state.writer_idle || (state.half_full() && state.writer.is_some()) {
            self.0.0.work.notify_one();
        }
        result
    }

    /// Appends a row, waiting for room if need be. Before it stands the row about those that were
    /// lost, if there are any: both are kept, or neither.
    fn append<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        mut event: Event,
    ) -> (MutexGuard<'a, State>, Result<Event, LedgerError>) {
        let last = matches!(event.act, Act::SessionEnd { .. });
        loop {
            let need = match self.need(&mut state, &mut event) {
                Ok(need) => need,
                Err(e) => return (state, Err(e)),
            };
            if state.fits(need, last) {
                let path = || self.0.0.directory.join("journal");
                let published = state
                    .reserve(need)
                    .map_err(|e| LedgerError::io("write", &path())(e))
                    .and_then(|()| self.publish(&mut state, &mut event));
                return (state, published.map(|()| event));
            }
            if state.stalled || state.stop || state.writer.is_none() {
                let directory = self.0.0.directory.clone();
                let cause = state.writer_error.clone();
                return (state, Err(LedgerError::Overflow { directory, cause }));
            }
            self.0.0.work.notify_one();
            let patience = state.patience;
            let waited = self.0.0.space.wait_timeout_while(state, patience, |s| {
                !s.fits(need, last) && !s.stop && s.journal.is_some()
            });
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.stalled |= !state.fits(need, last);
            // Others may have written meanwhile: the row has another number now.
        }
    }

    /// The room that a row needs. Leaves its frame built.
    fn need(&self, state: &mut State, event: &mut Event) -> Result<usize, LedgerError> {
        let telling = match state.untold {
            0 => 0,
            // More digits than the number can have when it is told.
            _ => state.build(&mut self.loss(u64::MAX))?,
        };
        Ok(telling + state.build(event)?)
    }

    /// Publishes a row that was built and has room, after the one about losses.
    fn publish(&self, state: &mut State, event: &mut Event) -> Result<(), LedgerError> {
        if state.untold > 0 {
            let mut loss = self.loss(state.untold);
            state.build(&mut loss)?;
            state.publish(&loss)?;
            state.untold = 0;
            state.build(event)?;
        }
        state.publish(event)
    }

    /// The row about rows that were lost.
    fn loss(&self, lost: u64) -> Event {
        let rule = RuleRef {
            id: "ledger.overflow".into(),
            origin: Origin::built_in(),
        };
        Event {
            id: 0,
            time_ns: now_ns(),
            act: Act::Overflow { lost },
            decision: Decision::deny(
                rule,
                "acts could not be recorded and were therefore refused",
                format!(
                    "free some space in {}, or set XDG_STATE_HOME to a faster disk",
                    self.0.0.directory.display()
                ),
            ),
        }
    }

    /// Starts the thread that moves rows to `session.db`; it is started by itself when the
    /// journal is half full. A process must not fork after this.
    ///
    /// # Errors
    /// [`LedgerError::Closed`]; [`LedgerError::Io`] where no thread can be started.
    pub fn start_writer(&self) -> Result<(), LedgerError> {
        let mut state = self.0.0.lock();
        self.spawn(&mut state)
    }

    fn spawn(&self, state: &mut State) -> Result<(), LedgerError> {
        let Some(mapping) = &state.mapping else {
            return Err(LedgerError::Closed);
        };
        if state.writer.is_none() {
            let thread = writer::spawn(Arc::clone(&self.0.0), Arc::clone(mapping))
                .map_err(LedgerError::io("start the writer of", &self.0.0.directory))?;
            state.writer = Some(thread);
        }
        Ok(())
    }

    /// How long a row waits for room.
    #[cfg(test)]
    pub(crate) fn wait_for_room(&self, patience: std::time::Duration) {
        self.0.0.lock().patience = patience;
    }

    /// What was recorded so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let state = self.0.0.lock();
        let numbers = Boundary::ALL.into_iter().zip(state.by_boundary);
        Counts {
            rows: state.rows,
            refusals: state.refusals,
            lost: state.lost,
            by_boundary: numbers.filter(|(_, n)| *n > 0).collect(),
        }
    }

    /// The last row with a refusal.
    #[must_use]
    pub fn last_refusal(&self) -> Option<Event> {
        self.0.0.lock().last_refusal.clone()
    }

    /// Ends the record: the last row, the chain's head in the index, the lock. Waits at most for
    /// the batch that the writer has in hand; rows that it has not taken stay in the journal.
    /// Closing twice is no error.
    ///
    /// # Errors
    /// [`LedgerError`] where the end could not be recorded. The session then counts as killed;
    /// what was recorded before stays.
    pub fn close(&self) -> Result<(), LedgerError> {
        let state = self.0.0.lock();
        if state.journal.is_none() || state.stop {
            return Ok(());
        }
        let end = Event {
            id: 0,
            time_ns: now_ns(),
            act: Act::SessionEnd { rows: 0 },
            decision: Decision::allow(RuleRef {
                id: "run".into(),
                origin: Origin::built_in(),
            }),
        };
        let (mut state, ended) = self.append(state, end);
        state.stop = true;
        let writer = state.writer.take();
        let close = Close {
            id: self.0.0.id.clone(),
            ended_ns: now_ns(),
            rows: state.rows,
            refusals: state.refusals,
            lost: state.lost,
            exit: state.exit,
            head: chain::hex(&state.head),
        };
        drop(state);
        self.0.0.work.notify_all();
        self.0.0.space.notify_all();
        if let Some(writer) = writer {
            let _ = writer.join();
        }
        let anchored = ended.and_then(|_| index::append(&self.0.0.index, &Line::Close(close)));
        let mut state = self.0.0.lock();
        if let Some(mapping) = state.mapping.take()
            && anchored.is_ok()
        {
            mapping.anchored();
        }
        let named = match &self.0.0.name {
            Some(name) => names::take_back(name, &self.0.0.id),
            None => Ok(()),
        };
        if let Some(journal) = state.journal.take() {
            journal.unlock();
        }
        anchored.and(named)
    }

    /// Lets go of the journal in a forked child, which must neither reach its memory nor keep
    /// the session alive. Nothing is flushed, no lock is given back: both are the parent's.
    pub fn detach_in_child(&self) {
        let mut state = self.0.0.lock();
        state.mapping = None;
        state.journal = None;
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.lock().stop = true;
        self.0.work.notify_all();
    }
}

fn make_directory(state: &StateDir, started_ns: u64) -> Result<(SessionId, PathBuf), LedgerError> {
    let sessions = state.sessions();
    make_private(&sessions)?;
    loop {
        let random = RandomState::new().build_hasher().finish() as u32;
        let id = SessionId::new(started_ns / 1_000_000_000, random);
        let directory = sessions.join(id.as_str());
        match DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => return Ok((id, directory)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(LedgerError::io("create", &directory)(e)),
        }
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<(), LedgerError> {
    let open = || -> std::io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    };
    open()
        .and_then(|mut file| file.write_all(bytes))
        .map_err(LedgerError::io("write", path))
}

/// Nanoseconds since the Unix epoch.
fn now_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos() as u64)
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
