//! The guest's binary at work (`bailiwick-guest bench`): the same program natively, in a process sandbox
//! and in a machine, told what to do line by line, so that the ways take turns while all of them wait.

use super::ground::Way;
use crate::inside_session::InsideSession;
use crate::verdict::Verdict;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

/// How long a run may take to its end after its command's.
const LAST: Duration = Duration::from_secs(20);
/// How long a run may take until its program answers at all.
const START: Duration = Duration::from_secs(60);
/// A translated guest works long at a large file.
const PATIENCE: Duration = Duration::from_secs(300);

/// One of them.
pub(crate) struct Worker {
    /// The name of its series.
    pub name: &'static str,
    /// Where it has the workspace.
    pub folder: PathBuf,
    /// Whether it has a kernel of its own, with a cache of its own.
    pub is_machine: bool,
    session: InsideSession,
    /// Whether a kernel may say something between its answers.
    at_console: bool,
    /// What serves its files.
    server: Option<Server>,
}

/// A process that ends with the worker that it serves.
pub(crate) struct Server(pub Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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
        Ok(Self {
            name: way.name(),
            folder: cwd.to_owned(),
            is_machine: way.is_machine(),
            session,
            at_console: false,
            server: None,
        })
    }

    /// Starts it as the first program of a bare machine, whose console it works at.
    pub(crate) fn bare(
        name: &'static str,
        argv: &[OsString],
        folder: &Path,
        server: Option<Server>,
    ) -> Result<Self, Verdict> {
        let session = InsideSession::start_bound(argv)
            .map_err(|why| Verdict::DoesNotStart(format!("{name}: {why}")))?;
        Ok(Self {
            name,
            folder: folder.to_owned(),
            is_machine: true,
            session,
            at_console: true,
            server,
        })
    }

    /// Whether there are other programs than itself where it works.
    pub(crate) fn has_programs(&self) -> bool {
        !self.at_console
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
        let name = self.name;
        let fail = |why: String| Verdict::Fail(format!("{name}: {}: {why}", words.join(" ")));
        let line = words.join("\t") + "\n";
        let patience = match words {
            ["about"] => START,
            _ => PATIENCE,
        };
        let said = self.session.ask(line.as_bytes(), patience).map_err(fail)?;
        self.answer(&words.join(" "), said)
    }

    /// Waits until the first program of a bare machine takes work.
    ///
    /// # Errors
    /// A fail, where it says that it cannot.
    pub(crate) fn begun(&mut self) -> Result<(), Verdict> {
        let said = self.session.hear(START).map_err(Verdict::Fail)?;
        self.answer("its start", said).map(drop)
    }

    /// The answer to this, of which the first line was said.
    fn answer(&mut self, asked: &str, mut said: Vec<u8>) -> Result<Answer, Verdict> {
        let of = format!("{}: {asked}", self.name);
        let fail = |why: String| Verdict::Fail(format!("{of}: {why}"));
        while self.at_console && !said.starts_with(b"{") {
            said = self.session.hear(PATIENCE).map_err(fail)?;
        }
        let value: Value = serde_json::from_slice(&said)
            .map_err(|error| fail(format!("its answer is no answer: {error}")))?;
        match value.get("error").and_then(Value::as_str) {
            Some(why) => Err(fail(why.to_owned())),
            None => Ok(Answer { of, value }),
        }
    }

    /// Has it end, and waits for that.
    ///
    /// # Errors
    /// A fail, where it does not end well.
    pub(crate) fn end(mut self) -> Result<(), Verdict> {
        let name = self.name;
        let ended = match self.at_console {
            true => self.session.say(b"end\n"),
            false => Ok(()),
        };
        let ended = ended.and_then(|()| self.session.finish(LAST));
        drop(self.server);
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
}
