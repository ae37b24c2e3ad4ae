//! Whether a record is what was written. The chain is computed again from the rows as they
//! stand and compared with every place that keeps its head. What this cannot show: someone with
//! the user's rights who rewrites the rows, the journal and the index together.

use crate::LedgerError;
use crate::chain::{self, Hash};
use crate::database::{self, Columns};
use crate::index::{self, Close, Line};
use crate::journal;
use crate::recovery::{self, Damage, View};
use crate::replay::REPLAYED;
use bailiwick_event::{Act, Event, SessionId};
use rusqlite::{Connection, Row};
use std::fmt;
use std::path::Path;

/// What the index says about the end of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The session ended in order and the index has the same head.
    Anchored,
    /// The session runs; its head is not in the index yet.
    Live,
    /// The supervisor was killed, or could not write the end: the head stands in the journal only.
    Unanchored,
}

/// The outcome of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verification {
    /// Every row is as it was written.
    Intact {
        /// How many rows.
        rows: u64,
        /// The hash of the last one, in hexadecimal.
        head: String,
        /// Where the head is kept.
        anchor: Anchor,
    },
    /// The supervisor was killed while it made the record: there is none, and there was none.
    NotBegun,
    /// Something was changed, removed, added or torn.
    Damaged {
        /// How many rows there are.
        rows: u64,
        /// What is wrong, in the order in which it was found; never empty.
        problems: Vec<Problem>,
    },
}

impl Verification {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        matches!(self, Self::Intact { .. } | Self::NotBegun)
    }
}

/// Something that is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The first row that does not continue the chain: it was changed, or put in.
    Row(u64),
    /// Rows are missing before this one.
    Missing {
        /// The first that is missing.
        expected: u64,
        /// The row that is there.
        found: u64,
    },
    /// A column that people query says something else than the event that was hashed.
    Column {
        /// The row.
        row: u64,
        /// The column.
        column: &'static str,
    },
    /// The journal is damaged.
    Journal(Damage),
    /// There are fewer or more rows than somewhere is written.
    Count {
        /// Where it is written: `the journal`, `the index`, `the last row`.
        place: &'static str,
        /// What is written there.
        expected: u64,
        /// What was found.
        found: u64,
    },
    /// The last hash is not the one that is written there.
    Head {
        /// Where: `the journal`, `the index`.
        place: &'static str,
    },
    /// The session ended in order, but the index does not say so.
    NoAnchor,
    /// The index tells two ends of this session.
    TwoAnchors,
    /// The index does not know that the session began.
    NoStart,
    /// The index says that the session ended, but its last row is not the end.
    NoEnd,
    /// The database's tables, or the triggers that guard them, were changed.
    Schema,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(row) => write!(f, "row {row} was changed or put in: the hash chain breaks"),
            Self::Missing { expected, found } if *found == expected + 1 => {
                write!(f, "row {expected} is missing")
            }
            Self::Missing { expected, found } => {
                write!(
                    f,
                    "rows {expected} to {} are missing",
                    found.saturating_sub(1)
                )
            }
            Self::Column { row, column } => {
                write!(f, "column {column} of row {row} disagrees with its event")
            }
            Self::Journal(damage) => damage.fmt(f),
            Self::Count {
                place,
                expected,
                found,
            } => write!(f, "{found} rows were found where {place} says {expected}"),
            Self::Head { place } => write!(f, "the last hash is not the one in {place}"),
            Self::NoAnchor => f.write_str("the session ended, but the index has no line about it"),
            Self::TwoAnchors => f.write_str("the index tells two different ends"),
            Self::NoStart => f.write_str("the index has no line about the session's start"),
            Self::NoEnd => f.write_str("the index says that it ended, but the last row does not"),
            Self::Schema => f.write_str("the tables or triggers of session.db were changed"),
        }
    }
}

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Intact { rows, head, anchor } => {
                write!(f, "intact: {rows} rows, head {head}, ")?;
                f.write_str(match anchor {
                    Anchor::Anchored => "anchored in the index",
                    Anchor::Live => "still running",
                    Anchor::Unanchored => {
                        "unanchored: the supervisor was killed or could not write the end, so the index \
                         has no head"
                    }
                })
            }
            Self::NotBegun => f.write_str(
                "nothing was recorded: the supervisor was killed before the record stood",
            ),
            Self::Damaged { rows, problems } => {
                write!(f, "damaged: {rows} rows")?;
                for problem in problems {
                    write!(f, "\n  {problem}")?;
                }
                Ok(())
            }
        }
    }
}

/// What the index says about the session.
struct Named {
    started: bool,
    closes: Vec<Close>,
}

impl Named {
    fn read(index: &Path, id: &SessionId) -> Result<Self, LedgerError> {
        let mut started = false;
        let mut closes: Vec<Close> = Vec::new();
        for line in index::read(index)? {
            match line {
                Line::Start { id: other, .. } => started |= other == *id,
                Line::Close(close) if close.id == *id => closes.push(close),
                _ => {}
            }
        }
        closes.dedup();
        Ok(Self { started, closes })
    }
}

/// Walks the rows and notes what does not fit.
struct Walk {
    rows: u64,
    head: Hash,
    /// The head when as many rows had been seen as the journal says.
    at_slot: Option<Hash>,
    slot_rows: u64,
    last_act: Option<Act>,
    broken: bool,
    problems: Vec<Problem>,
}

pub(crate) fn verify(
    directory: &Path,
    index: &Path,
    id: &SessionId,
) -> Result<Verification, LedgerError> {
    let journal_path = directory.join("journal");
    // In this order, what is read later is never older than what it is compared with, even if
    // the session ends meanwhile.
    let alive = journal::is_live(&journal_path);
    let named = Named::read(index, id)?;
    let live = alive && named.closes.is_empty();
    if !alive && named.closes.is_empty() && !recovery::begun(directory) {
        return Ok(Verification::NotBegun);
    }
    let view = recovery::view(&journal_path)?;
    let slot = view.as_ref().ok().and_then(|v| v.header.slot);
    let genesis = chain::genesis(id);
    let mut walk = Walk {
        rows: 0,
        head: genesis,
        at_slot: None,
        slot_rows: slot.map_or(0, |s| s.rows),
        last_act: None,
        broken: false,
        problems: Vec::new(),
    };
    let path = directory.join("session.db");
    let mut replayed = None;
    if let Some(connection) = database::open_to_read(&path)? {
        replayed = walk
            .database(&connection)
            .map_err(LedgerError::database(&path))?;
    }
    match &view {
        Ok(view) => {
            let stored = replayed == Some(view.header.committed.to_string());
            walk.journal(view, stored, live);
        }
        Err(damage) => walk.problems.push(Problem::Journal(damage.clone())),
    }
    // A supervisor that died, or found the disk full, between the last row and the index's line.
    let unfinished = view.as_ref().is_ok_and(|v| !v.header.anchored);
    let anchor = walk.anchor(named, live, unfinished);
    Ok(if walk.problems.is_empty() {
        Verification::Intact {
            rows: walk.rows,
            head: chain::hex(&walk.head),
            anchor,
        }
    } else {
        Verification::Damaged {
            rows: walk.rows,
            problems: walk.problems,
        }
    })
}

impl Walk {
    /// Walks the stored rows; returns up to which position the journal was replayed.
    fn database(&mut self, connection: &Connection) -> rusqlite::Result<Option<String>> {
        let transaction = connection.unchecked_transaction()?;
        let version = database::schema_version(&transaction)?;
        if database::schema(&transaction)? != database::expected_schema(version)? {
            self.problems.push(Problem::Schema);
        }
        let mut statement = transaction.prepare(
            "SELECT id, event, hash, time_ns, boundary, verdict, rule, origin, resource, remedy
             FROM events ORDER BY id",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            self.stored(row)?;
        }
        database::value(&transaction, REPLAYED)
    }

    fn stored(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let id = row.get::<_, i64>(0)? as u64;
        let json = row.get_ref(1)?.as_bytes().unwrap_or_default();
        let hash = row.get_ref(2)?.as_bytes().unwrap_or_default();
        let event = serde_json::from_slice::<Event>(json).ok();
        let Some(event) = self.link(id, json, hash, event) else {
            return Ok(());
        };
        let expected = Columns::of(&event);
        let column = |at: usize, expected: &str| {
            Ok::<_, rusqlite::Error>(row.get_ref(at)?.as_str().is_ok_and(|s| s == expected))
        };
        let same = [
            (
                "time_ns",
                row.get_ref(3)?.as_i64() == Ok(event.time_ns as i64),
            ),
            ("boundary", column(4, &expected.boundary)?),
            ("verdict", column(5, &expected.verdict)?),
            ("rule", column(6, &expected.rule)?),
            ("origin", column(7, &expected.origin)?),
            ("resource", column(8, &expected.resource)?),
            ("remedy", column(9, &expected.remedy)?),
        ];
        for (column, _) in same.into_iter().filter(|(_, same)| !same) {
            self.problems.push(Problem::Column { row: id, column });
        }
        self.last_act = Some(event.act);
        Ok(())
    }

    /// Continues the chain with a row; none where it is no event. Only the first break is told:
    /// behind it every hash is another one.
    fn link(&mut self, id: u64, json: &[u8], hash: &[u8], event: Option<Event>) -> Option<Event> {
        let expected = self.rows + 1;
        let head = chain::link(&self.head, json);
        let whole = head == hash && event.as_ref().is_some_and(|e| e.id == id);
        if !self.broken && id != expected {
            let found = id;
            self.problems.push(Problem::Missing { expected, found });
            self.broken = true;
        } else if !self.broken && !whole {
            self.problems.push(Problem::Row(id));
            self.broken = true;
        }
        self.rows += 1;
        self.head = head;
        if self.rows == self.slot_rows {
            self.at_slot = Some(head);
        }
        event
    }

    /// Continues with the rows that only the journal has, and compares with its header.
    fn journal(&mut self, view: &View, stored: bool, live: bool) {
        if !self.broken {
            let (rows, damage) = view.rows_after(self.rows, &self.head);
            self.problems.extend(damage.map(Problem::Journal));
            // What was once in the database and is not there now was taken out.
            if !stored {
                for row in rows {
                    let (json, hash) = (row.json.as_bytes(), row.hash);
                    let event = self.link(row.event.id, json, &hash, Some(row.event));
                    self.last_act = event.map(|e| e.act);
                }
            }
        }
        let place = "the journal";
        let (found, expected) = (self.rows, self.slot_rows);
        let unsettled = view.header.slot.is_none() && view.header.committed > 0;
        // A live session goes on while it is read.
        if unsettled {
            self.problems.push(Problem::Journal(Damage::Header));
        } else if self.broken && !stored {
            // The rows that only the journal has were not counted.
        } else if found < expected || (!live && found > expected) {
            self.problems.push(Problem::Count {
                place,
                expected,
                found,
            });
        } else if let Some(slot) = view.header.slot
            && self.at_slot != Some(slot.head)
            && !self.broken
        {
            self.problems.push(Problem::Head { place });
        }
    }

    /// Compares with the index.
    fn anchor(&mut self, mut named: Named, live: bool, unfinished: bool) -> Anchor {
        if !named.started {
            self.problems.push(Problem::NoStart);
        }
        if named.closes.len() > 1 {
            self.problems.push(Problem::TwoAnchors);
        }
        let ended = match self.last_act {
            Some(Act::SessionEnd { rows }) => Some(rows),
            _ => None,
        };
        if let Some(expected) = ended
            && expected + 1 != self.rows
        {
            self.problems.push(Problem::Count {
                place: "the last row",
                expected: expected + 1,
                found: self.rows,
            });
        }
        let Some(close) = named.closes.pop() else {
            if live {
                return Anchor::Live;
            }
            if ended.is_some() && !unfinished {
                self.problems.push(Problem::NoAnchor);
            }
            return Anchor::Unanchored;
        };
        let place = "the index";
        if close.rows != self.rows {
            self.problems.push(Problem::Count {
                place,
                expected: close.rows,
                found: self.rows,
            });
        } else if close.head != chain::hex(&self.head) && !self.broken {
            self.problems.push(Problem::Head { place });
        }
        if ended.is_none() {
            self.problems.push(Problem::NoEnd);
        }
        Anchor::Anchored
    }
}

#[cfg(test)]
#[path = "verification_tests.rs"]
mod tests;
