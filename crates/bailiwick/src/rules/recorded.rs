//! Where recorded events come from: files and sessions.
//!
//! Decision: what names a file is a file; everything else is a session, which is never named with
//! a path.

use super::progress::Bar;
use crate::selection;
use bailiwick_event::fields::{EventType, Projection, Record, Subject};
use bailiwick_event::{Failure, Text};
use bailiwick_ledger::{Filter, LedgerError, SessionInfo, SessionReader};
use bailiwick_rules::Example;
use bailiwick_rules::backtest::{Backtest, Corpus, CorpusError, MAX_LINE};
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// The session that is meant where no file is.
fn session(name: &OsStr) -> Result<(SessionInfo, SessionReader), Failure> {
    let query = name.to_string_lossy();
    let sessions = selection::sessions()?;
    let info = sessions.find(&query).map_err(|error| match error {
        LedgerError::NotFound(_) => Failure::usage(format!(
            "{} is neither a file nor a session; `bailiwick sessions list` has the sessions",
            Text::from(name)
        )),
        other => other.into(),
    })?;
    let reader = sessions.reader(&info.id)?;
    Ok((info, reader))
}

/// What is wrong with a file is for its user to mend.
fn usage(error: CorpusError) -> Failure {
    let help = match error {
        CorpusError::Line(_) => "; mend the line, or pass over such lines with --keep-going",
        CorpusError::Io { .. } => "",
    };
    Failure::usage(format!("{error}{help}"))
}

/// Asks the events of files and sessions, in the order in which they are named.
pub(super) fn ask(backtest: &mut Backtest, named: &[OsString]) -> Result<(), Failure> {
    // What is named wrongly is told before an hour is spent on the rest.
    let mut all = Vec::new();
    for name in named {
        all.push(match Path::new(name).exists() {
            true => Ok(Corpus::open([name]).map_err(usage)?),
            false => Err(session(name)?),
        });
    }
    for (name, source) in named.iter().zip(all) {
        match source {
            Ok(corpus) => {
                let bar = Bar::new(&Text::from(&**name).to_string());
                let asked = backtest.corpus(&corpus, &|progress| bar.show(progress));
                bar.end();
                asked.map_err(usage)?;
            }
            Err((info, reader)) => {
                let id: Arc<str> = info.id.as_str().into();
                reader.each(&Filter::default(), |event| {
                    backtest.event(&id, &event);
                    Ok(())
                })?;
            }
        }
    }
    Ok(())
}

/// Gives the event that a word means: JSON, `FILE:LINE`, or `SESSION:NUMBER`.
pub(super) fn with_event(
    word: &str,
    on: EventType,
    take: &mut dyn FnMut(&Subject<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if word.trim_start().starts_with('{') {
        let json = serde_json::from_str(word)
            .map_err(|error| Failure::usage(format!("the event is no JSON: {error}")))?;
        let example = Example::new(true, json, on);
        let record = example
            .record()
            .map_err(|error| Failure::usage(format!("the event: {error}")))?;
        return take(&record.subject());
    }
    let split = word.rsplit_once([':', '/']);
    let number = split.and_then(|(_, number)| number.parse::<u64>().ok());
    let (Some((name, _)), Some(number)) = (split, number) else {
        return Err(Failure::usage(format!(
            "\"{}\" is no event; write FILE:LINE, SESSION:NUMBER, or the event as JSON",
            word.escape_default()
        )));
    };
    if Path::new(name).exists() {
        let line = line(Path::new(name), number)?;
        let record = Record::read(&line).map_err(|error| {
            let column = error.column.max(1);
            Failure::usage(format!("{name}:{number}:{column}: {error}"))
        })?;
        return take(&record.subject());
    }
    let (info, reader) = session(OsStr::new(name))?;
    let event = reader.event(number)?.ok_or_else(|| {
        Failure::usage(format!(
            "session {} has no row {number}; it has {}",
            info.id, info.rows
        ))
    })?;
    let Some(projection) = Projection::of_event(&event, info.id.as_str()) else {
        return Err(Failure::usage(format!(
            "row {number} of session {} is about the {} itself, which no rule can be about; \
             `bailiwick why {}/{number}` explains it",
            info.id,
            event.boundary(),
            info.id
        )));
    };
    take(&projection.subject())
}

/// A line of a file, by its number from 1.
fn line(path: &Path, number: u64) -> Result<String, Failure> {
    let name = Text::from(path.as_os_str());
    let failed = |why: String| Failure::usage(format!("{name}:{number}: {why}"));
    let file = std::fs::File::open(path).map_err(|e| failed(e.to_string()))?;
    let mut reader = BufReader::new(file);
    for _ in 1..number {
        let passed = reader
            .skip_until(b'\n')
            .map_err(|e| failed(e.to_string()))?;
        if passed == 0 {
            break;
        }
    }
    let mut line = Vec::new();
    (&mut reader)
        .take(MAX_LINE as u64 + 1)
        .read_until(b'\n', &mut line)
        .map_err(|e| failed(e.to_string()))?;
    if number == 0 || line.trim_ascii().is_empty() {
        return Err(failed("there is no event in this line".to_owned()));
    }
    String::from_utf8(line).map_err(|_| failed("the line is no UTF-8".to_owned()))
}
