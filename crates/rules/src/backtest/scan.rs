//! The lines of one piece of a corpus, asked one after the other.

use super::chunks::{Chunk, Kind};
use super::corpus::MAX_LINE;
use super::question::Question;
use super::tally::Tally;
use super::{CorpusError, Mistake, Place};
use bailiwick_event::fields::{RecordError, RecordReader};
use std::sync::Arc;

/// Lines that are no events and are told; those that follow are only counted.
pub(super) const TOLD: usize = 10;

/// What was found in a piece. The numbers of its lines count from the piece's beginning.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) chunk: Chunk,
    pub(super) lines: u64,
    pub(super) tally: Tally,
    pub(super) mistakes: Vec<Mistake>,
    /// What ended it before its end.
    pub(super) stopped: Option<CorpusError>,
}

/// Asks the lines of a piece.
pub(super) fn scan(
    question: &Question,
    (chunk, bytes, file): (Chunk, &[u8], &Arc<str>),
    (tally, keep_going): (Tally, bool),
) -> Part {
    let mut part = Part {
        chunk,
        lines: 0,
        tally,
        mistakes: Vec::new(),
        stopped: None,
    };
    match chunk.kind {
        Kind::Lines => part.scan(question, bytes, file, keep_going),
        Kind::TooLong => {
            part.lines = 1;
            part.wrong(file, too_long(), keep_going);
        }
        Kind::Failed(kind) => {
            let (file, why) = (Arc::clone(file), kind.to_string());
            part.stopped = Some(CorpusError::Io { file, why });
        }
    }
    part
}

impl Part {
    fn scan(&mut self, question: &Question, bytes: &[u8], file: &Arc<str>, keep_going: bool) {
        let whole = std::str::from_utf8(bytes).ok();
        let mut reader = RecordReader::default();
        let mut start = 0;
        while start < bytes.len() && self.stopped.is_none() {
            let length = memchr::memchr(b'\n', &bytes[start..]);
            let end = length.map_or(bytes.len(), |length| start + length);
            let raw = &bytes[start..end];
            let line = match whole {
                Some(text) => Ok(text.get(start..end).unwrap_or_default()),
                None => std::str::from_utf8(raw),
            };
            start = end + 1;
            self.lines += 1;
            if raw.len() > MAX_LINE {
                self.wrong(file, too_long(), keep_going);
                continue;
            }
            let read = match line {
                Ok(line) if line.trim_ascii().is_empty() => continue,
                Ok(line) => reader.read(line).map_err(|e| in_characters(e, line)),
                Err(error) => Err(RecordError {
                    column: String::from_utf8_lossy(&raw[..error.valid_up_to()])
                        .chars()
                        .count()
                        + 1,
                    message: "the line is no UTF-8; write \\u and four digits for what is no text"
                        .into(),
                }),
            };
            match read {
                Ok(record) => {
                    let line = self.lines;
                    let place = || Place::Line {
                        file: Arc::clone(file),
                        line,
                    };
                    question.ask(&record.subject(), &mut self.tally, place);
                }
                Err(error) => self.wrong(file, error, keep_going),
            }
        }
    }

    fn wrong(&mut self, file: &Arc<str>, error: RecordError, keep_going: bool) {
        self.tally.skipped += 1;
        if keep_going && self.mistakes.len() == TOLD {
            return;
        }
        let mistake = Mistake {
            file: Arc::clone(file),
            line: self.lines,
            column: error.column.max(1),
            message: error.message,
        };
        match keep_going {
            true => self.mistakes.push(mistake),
            false => self.stopped = Some(CorpusError::Line(mistake)),
        }
    }
}

fn too_long() -> RecordError {
    RecordError {
        column: 1,
        message: format!(
            "the line is longer than {MAX_LINE} bytes, the most that an event may have; \
             shorten its body or leave it out with --keep-going"
        ),
    }
}

/// An error with its column in characters instead of bytes.
fn in_characters(error: RecordError, line: &str) -> RecordError {
    let before = line.as_bytes().get(..error.column.saturating_sub(1));
    let before = String::from_utf8_lossy(before.unwrap_or_default());
    RecordError {
        column: before.chars().count() + 1,
        ..error
    }
}
