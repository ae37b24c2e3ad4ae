//! The guest's binary at work (`bailiwick-guest bench`): the same program natively, in a process sandbox
//! and in a machine, told what to do line by line, so that the ways take turns while all of them wait.

use super::ground::Way;
use crate::inside_session::InsideSession;
use crate::verdict::Verdict;
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// A translated guest works long at a large file.
const PATIENCE: Duration = Duration::from_secs(300);

/// One of them.
pub(crate) struct Worker {
    pub way: Way,
    session: InsideSession,
}

impl Worker {
    /// Starts it; that it is there is known when it has answered.
    pub(crate) fn start(
        way: Way,
        argv: &[OsString],
        cwd: &Path,
        environment: &[(OsString, OsString)],
    ) -> Result<Self, Verdict> {
        let session = InsideSession::start(argv, cwd, environment)
            .map_err(|why| Verdict::Fail(format!("{}: {why}", way.name())))?;
        Ok(Self { way, session })
    }

    /// The process that was started: with a sandbox, its supervisor.
    pub(crate) fn id(&self) -> u32 {
        self.session.id()
    }

    /// Has it do a piece of work; what came of it.
    ///
    /// # Errors
    /// A fail, where it says that it could not, or says nothing.
    pub(crate) fn ask(&mut self, words: &[&str]) -> Result<Answer, Verdict> {
        let name = self.way.name();
        let fail = |why: String| Verdict::Fail(format!("{name}: {}: {why}", words.join(" ")));
        let line = words.join("\t") + "\n";
        let said = self.session.ask(line.as_bytes(), PATIENCE).map_err(fail)?;
        let value: Value = serde_json::from_slice(&said)
            .map_err(|error| fail(format!("its answer is no answer: {error}")))?;
        match value.get("error").and_then(Value::as_str) {
            Some(why) => Err(fail(why.to_owned())),
            None => Ok(Answer {
                of: format!("{name}: {}", words.join(" ")),
                value,
            }),
        }
    }

    /// Has it end, and waits for that.
    ///
    /// # Errors
    /// A fail, where it does not end well.
    pub(crate) fn end(self) -> Result<(), Verdict> {
        let name = self.way.name();
        let ended = self.session.finish(PATIENCE);
        ended.map_err(|why| Verdict::Fail(format!("{name}: {why}")))
    }
}

/// What came of a piece of work. It is said by a program in a sandbox, and so is a claim.
pub(crate) struct Answer {
    of: String,
    value: Value,
}

impl Answer {
    /// A number.
    pub(crate) fn number(&self, name: &str) -> Result<u64, Verdict> {
        let found = self.value.get(name).and_then(Value::as_u64);
        found.ok_or_else(|| Verdict::Fail(format!("{}: it says no {name}", self.of)))
    }

    /// A text.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Verdict> {
        let found = self.value.get(name).and_then(Value::as_str);
        found.ok_or_else(|| Verdict::Fail(format!("{}: it says no {name}", self.of)))
    }

    /// All of it, for the log.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }
}
