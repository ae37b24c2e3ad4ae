//! A run that goes on until its record says something: what a program waits for then is the row itself, and
//! not a time in which the product should have written it.

use super::{Outcome, Sandbox, wait};
use std::ffi::{OsStr, OsString};
use std::panic::resume_unwind;

impl Sandbox {
    /// Runs a program that goes on until there is a file `seen` in the workspace. It is made there as
    /// soon as a row of the run's record holds this text.
    #[track_caller]
    pub(crate) fn exec_until_recorded<I>(&self, argv: I, text: &str) -> Outcome
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let argv: Vec<OsString> = argv.into_iter().map(|w| w.as_ref().to_owned()).collect();
        let known = self.scratch().sessions();
        std::thread::scope(|scope| {
            let run = scope.spawn(|| self.exec(&argv));
            wait::until(&format!("a row of the record holds {text:?}"), || {
                run.is_finished() || self.has_recorded(&known, text)
            });
            self.scratch().write("workspace/seen", "");
            run.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// The same with a line of shell.
    #[track_caller]
    pub(crate) fn run_until_recorded(&self, script: &str, text: &str) -> Outcome {
        self.exec_until_recorded(["sh", "-c", script], text)
    }

    /// Whether a row of the session that is none of these holds a text.
    fn has_recorded(&self, known: &[String], text: &str) -> bool {
        let new = self.scratch().sessions();
        let new = new.iter().find(|session| !known.contains(session));
        new.is_some_and(|session| {
            let log = self.bailiwick(["log", "--json", session]);
            log.stdout().contains(text)
        })
    }
}
