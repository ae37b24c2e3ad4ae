//! The record of a run, from before its command starts to after its end.

use crate::protocol::open_door;
use crate::session::Finished;
use crate::summary;
use crate::supervisor::{End, happened, nanoseconds, not_executed};
use bailiwick_event::{Act, Event, Failure, Refused, Text};
use bailiwick_guard::{Guard, Observer};
use bailiwick_ledger::{Blank, Ledger, NewSession, StateDir};
use bailiwick_policy::Effective;
use rustix::fd::OwnedFd;
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A run of which nothing is recorded yet.
pub(crate) struct Beginning<'a> {
    pub(crate) state: &'a StateDir,
    /// A journal that was made in advance.
    pub(crate) blank: Option<Blank>,
    pub(crate) policy: &'a Arc<Effective>,
    pub(crate) name: Option<&'a str>,
    pub(crate) backend: &'static str,
    pub(crate) layers: Vec<String>,
    pub(crate) argv: &'a [OsString],
    pub(crate) cwd: &'a Path,
    /// Whether refusals are shown as they happen.
    pub(crate) monitor: bool,
    /// Whether the terminal on which they are shown is raw.
    pub(crate) raw: bool,
}

/// The record of a run that goes on.
pub(crate) struct Record {
    pub(crate) ledger: Ledger,
    pub(crate) guard: Arc<Guard>,
    name: OsString,
    cwd: PathBuf,
}

impl Record {
    /// Makes the record; its first rows say what starts.
    pub(crate) fn begin(run: Beginning<'_>) -> Result<Self, Failure> {
        let argv = texts(run.argv);
        let new = NewSession {
            name: run.name,
            workspace: &run.policy.workspace,
            argv: &argv,
        };
        let ledger = Ledger::create_in(run.state, &new, run.blank)?;
        let observer = run.monitor.then(|| monitor(run.raw));
        let guard = Guard::new(Arc::clone(run.policy), ledger.clone(), observer);
        let record = Self {
            ledger,
            guard,
            name: run.argv[0].clone(),
            cwd: run.cwd.to_path_buf(),
        };
        let session = Act::SessionStart {
            backend: run.backend.to_owned(),
            workspace: Text::from(run.policy.workspace.as_os_str()),
            layers: run.layers,
            policy: run.policy.hash(),
        };
        let cwd = Text::from(run.cwd.as_os_str());
        for act in [session, Act::ExecStart { argv, cwd }] {
            let resource = act.resource();
            let decision = record
                .guard
                .require(act, happened())
                .map_err(|error| record.fail(Duration::ZERO, error.into()))?;
            if !decision.is_allow() {
                let refused = Refused {
                    resource: format!("{resource}: {}", decision.reason),
                    rule: decision.rule,
                    remedy: decision.remedy,
                };
                return Err(record.fail(Duration::ZERO, Failure::Refused(refused)));
            }
        }
        Ok(record)
    }

    /// Keeps the policy as text; what follows the start of the command is in nobody's way.
    pub(crate) fn keep_policy(&self) -> Result<(), Failure> {
        let text = self.guard.policy().to_lock();
        Ok(self.ledger.keep_policy(&text)?)
    }

    /// Opens the door through which commands enter the sandbox.
    pub(crate) fn open_door(&self) -> Result<OwnedFd, Failure> {
        let path = door_of(self.ledger.directory());
        open_door(&path).map_err(|e| Failure::fault(format!("{}: {e}", path.display())))
    }

    /// Closes the record of a run that could not go on, so that it says so.
    pub(crate) fn fail(&self, took: Duration, failure: Failure) -> Failure {
        self.exited(failure.exit_code(), took);
        // What failed is told; that its end could not be recorded as well would not mend it.
        let _ = self.ledger.close();
        failure
    }

    /// Notes the end of the command; the exit code, and the line that explains it.
    pub(crate) fn end(
        &self,
        end: &End,
        took: Duration,
        path: Option<&OsString>,
    ) -> (u8, Option<String>) {
        let name = Text::from(self.name.as_os_str());
        let (code, line) = explained(end, &name, &self.cwd, || find_outside(&self.name, path));
        self.exited(code, took);
        (code, line.map(|line| format!("bailiwick: {line}")))
    }

    fn exited(&self, code: u8, took: Duration) {
        let duration_ns = nanoseconds(took);
        self.guard
            .note(Act::ExecExit { code, duration_ns }, happened());
    }

    /// Closes the record, behind which nothing is recorded any more.
    pub(crate) fn close(
        self,
        code: u8,
        mut last_line: Option<String>,
        json: bool,
        (left, told): (&[Act], &[String]),
    ) -> Result<Finished, Failure> {
        self.ledger.close().map_err(|error| {
            Failure::fault(format!(
                "the command ended with {code}, but the end of its record could not be kept: {error}"
            ))
        })?;
        let ledger = self.ledger;
        let (id, counts, last) = (ledger.id(), ledger.counts(), ledger.last_refusal());
        let (last, stopped) = (last.as_ref(), self.guard.stopped_by());
        if json {
            let summary = summary::json(id, code, (&counts, left.len(), told), last, stopped);
            last_line = Some(summary);
        } else {
            let refused = summary::line(id, counts.refusals, last, stopped);
            let left = summary::left(id, left, &self.guard.policy().workspace);
            let told = told.iter().map(|line| format!("bailiwick: {line}"));
            let lines = told.chain(left).chain(refused.or(last_line));
            let lines: Vec<String> = lines.collect();
            last_line = (!lines.is_empty()).then(|| lines.join("\n"));
        }
        Ok(Finished { code, last_line })
    }
}

/// The door of a session with this folder.
pub(crate) fn door_of(session: &Path) -> PathBuf {
    session.join("door")
}

/// A command's words as the record keeps them.
pub(crate) fn texts(argv: &[OsString]) -> Vec<Text> {
    argv.iter()
        .map(|word| Text::from(word.as_os_str()))
        .collect()
}

/// The exit code of a command, and what is said about one that was not executed.
pub(crate) fn explained(
    end: &End,
    name: &Text,
    cwd: &Path,
    outside: impl FnOnce() -> Option<PathBuf>,
) -> (u8, Option<String>) {
    match *end {
        End::Code(code) => (code, None),
        End::NoFolder(errno) => (126, Some(no_folder(cwd, errno))),
        End::NotExecuted(errno) => {
            let (code, line) = not_executed(name, errno, outside().as_deref());
            (code, Some(line))
        }
    }
}

/// What a person is told about a folder in which the command could not start.
fn no_folder(cwd: &Path, errno: i32) -> String {
    let error = std::io::Error::from_raw_os_error(errno);
    let remedy = match error.kind() {
        ErrorKind::PermissionDenied => {
            "its mode or its owner keeps the command out (`chmod u+rwx` mends that where it is \
             yours), or an entry of [filesystem] deny does"
        }
        _ => {
            "the policy has to grant it: begin a file of your own with `extends = [\"default\"]`, or name the folder under [filesystem] write"
        }
    };
    format!(
        "{}: the command cannot start in this folder of the sandbox ({error}): {remedy}",
        Text::from(cwd.as_os_str())
    )
}

/// Shows each refusal as it happens; a raw terminal needs its carriage returns.
fn monitor(raw: bool) -> Observer {
    let end = if raw { "\r\n" } else { "\n" };
    Box::new(move |event: &Event| {
        if event.is_refusal() {
            let _ = write!(
                std::io::stderr().lock(),
                "bailiwick: refused {} {}, by {}; remedy: {}{end}",
                event.boundary(),
                event.act.resource(),
                event.decision.rule,
                event.decision.remedy,
            );
        }
    })
}

/// Where the host has a command of this name.
pub(crate) fn find_outside(name: &OsStr, path: Option<&OsString>) -> Option<PathBuf> {
    let candidates: Vec<PathBuf> = if name.as_encoded_bytes().contains(&b'/') {
        vec![PathBuf::from(name)]
    } else {
        std::env::split_paths(path?)
            .map(|folder| folder.join(name))
            .collect()
    };
    candidates.into_iter().find(|path| path.is_file())
}
