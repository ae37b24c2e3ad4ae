//! What a run came to. An expectation that is not met prints the whole run — status, both
//! streams, every row of the ledger — since a sandbox's failure is seldom where it shows.

use super::wait::PATIENCE;
use super::{Finished, Scratch, host_command, run_to_end};
use bailiwick_event::Event;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::Arc;

/// A run that ended.
pub(crate) struct Outcome {
    scratch: Arc<Scratch>,
    finished: Finished,
    session: Option<String>,
}

impl Outcome {
    pub(super) fn new(scratch: Arc<Scratch>, finished: Finished, session: Option<String>) -> Self {
        Self {
            scratch,
            finished,
            session,
        }
    }

    pub(crate) fn stdout(&self) -> String {
        self.finished.stdout()
    }

    pub(crate) fn stderr(&self) -> String {
        self.finished.stderr()
    }

    pub(crate) fn stdout_bytes(&self) -> &[u8] {
        &self.finished.stdout
    }

    /// The exit code; none where a signal ended `bailiwick` itself.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.finished.status.code()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.scratch.workspace()
    }

    /// The session's name; none where the run did not get as far as to have one.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    #[track_caller]
    pub(crate) fn success(&self) -> &Self {
        self.code(0)
    }

    /// The run ended, and not well.
    #[track_caller]
    pub(crate) fn failure(&self) -> &Self {
        self.expect(
            self.exit_code().is_some_and(|code| code != 0),
            "an exit code other than 0",
        )
    }

    #[track_caller]
    pub(crate) fn code(&self, code: i32) -> &Self {
        self.expect(
            self.exit_code() == Some(code),
            &format!("the exit code {code}"),
        )
    }

    #[track_caller]
    pub(crate) fn stdout_is(&self, text: &str) -> &Self {
        self.expect(
            self.stdout() == text,
            &format!("stdout to be exactly {text:?}"),
        )
    }

    #[track_caller]
    pub(crate) fn stdout_has(&self, text: &str) -> &Self {
        self.expect(
            self.stdout().contains(text),
            &format!("{text:?} on standard output"),
        )
    }

    #[track_caller]
    pub(crate) fn stdout_lacks(&self, text: &str) -> &Self {
        self.expect(
            !self.stdout().contains(text),
            &format!("no {text:?} on standard output"),
        )
    }

    #[track_caller]
    pub(crate) fn stderr_has(&self, text: &str) -> &Self {
        self.expect(
            self.stderr().contains(text),
            &format!("{text:?} on standard error"),
        )
    }

    #[track_caller]
    pub(crate) fn stderr_lacks(&self, text: &str) -> &Self {
        self.expect(
            !self.stderr().contains(text),
            &format!("no {text:?} on standard error"),
        )
    }

    /// The command started, and the ledger has a refusal by this rule.
    #[track_caller]
    pub(crate) fn refused_by(&self, rule: &str) -> &Self {
        let found = self.denied().iter().any(|e| e.decision.rule.id == rule);
        self.expect(found, &format!("a refusal by {rule} in the ledger"))
    }

    /// The command started, and nothing was refused.
    #[track_caller]
    pub(crate) fn nothing_refused(&self) -> &Self {
        let none = self.denied().is_empty();
        self.expect(none, "no refusal in the ledger")
    }

    /// The run was refused by this rule before the command started.
    #[track_caller]
    pub(crate) fn not_started_by(&self, rule: &str) -> &Self {
        self.code(126).stderr_has(&format!("rule: {rule}"))
    }

    /// The session's rows, oldest first.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Event> {
        self.log(&[])
    }

    /// The session's refusals, oldest first.
    #[track_caller]
    pub(crate) fn denied(&self) -> Vec<Event> {
        self.log(&["--denied"])
    }

    #[track_caller]
    fn log(&self, options: &[&str]) -> Vec<Event> {
        let Some(session) = &self.session else {
            self.fail("a session, but the run recorded none", "");
        };
        let mut command = host_command(super::binary());
        command
            .env("HOME", self.scratch.home())
            .env("XDG_STATE_HOME", self.scratch.state())
            .env("XDG_CONFIG_HOME", self.scratch.config())
            .args(["log", "--json"])
            .args(options)
            .arg(session);
        let log = run_to_end(&mut command, &[], PATIENCE);
        if !log.status.success() {
            self.fail("a readable ledger", &log.stderr());
        }
        log.stdout()
            .lines()
            .map(|line| match serde_json::from_str(line) {
                Ok(event) => event,
                Err(e) => self.fail("every row to be an event", &format!("{e}: {line}")),
            })
            .collect()
    }

    #[track_caller]
    fn expect(&self, met: bool, what: &str) -> &Self {
        if !met {
            let rows = match &self.session {
                Some(_) => self
                    .events()
                    .iter()
                    .map(|e| {
                        format!(
                            "{} {} {} {} {}\n",
                            e.id,
                            e.boundary(),
                            e.decision.verdict,
                            e.decision.rule,
                            e.act.resource()
                        )
                    })
                    .collect(),
                None => String::from("(no session)"),
            };
            self.fail(what, &rows);
        }
        self
    }

    #[track_caller]
    fn fail(&self, what: &str, ledger: &str) -> ! {
        let ended = match (self.exit_code(), self.finished.status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            (None, None) => String::from("no status"),
        };
        panic!(
            "expected {what}\n--- {ended}\n--- stdout\n{}\n--- stderr\n{}\n--- ledger\n{ledger}",
            self.stdout(),
            self.stderr()
        );
    }
}
