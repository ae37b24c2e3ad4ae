//! A subcommand that goes on while the test does other things.

use super::{Sandbox, children, wait};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// A program that runs; dropping it closes its input and waits for its end.
pub(crate) struct Background {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Background {
    /// Starts `bailiwick WORDS` and waits until it has printed a line that holds `sign`.
    #[track_caller]
    pub(crate) fn start<I>(sandbox: &Sandbox, words: I, sign: &str) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let mut command = sandbox.command();
        command.args(words);
        Self::of(command, sign)
    }

    /// The same with any command.
    #[track_caller]
    pub(crate) fn of(command: Command, sign: &str) -> Self {
        let begun = Self::begun(command, sign);
        begun.unwrap_or_else(|| panic!("it ended before it printed {sign:?}"))
    }

    /// The same; none where it ends before it has printed the line.
    pub(crate) fn begun(mut command: Command, sign: &str) -> Option<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let seen = lines.by_ref().any(|line| line.unwrap().contains(sign));
        if !seen {
            let _ = child.wait();
            return None;
        }
        // What it prints from here on has a reader, whether somebody asks for it or not.
        let (keep, kept) = channel();
        std::thread::spawn(move || {
            // A line that is no text ends nothing.
            lines.for_each(|line| drop(keep.send(line.unwrap_or_default())));
        });
        let input = child.stdin.take();
        Some(Self {
            child,
            input,
            lines: kept,
        })
    }

    pub(crate) fn types(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
    }

    /// The next line that it prints.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        let line = self.lines.recv_timeout(wait::PATIENCE);
        line.unwrap_or_else(|_| panic!("it prints nothing more"))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether a run has taken a sandbox that waited: somebody else watches over it than the process that
    /// was called, which has started nothing.
    pub(crate) fn has_found_a_sandbox(&self) -> bool {
        children(self.pid()).is_empty()
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }

    /// Ends it as no program can refuse.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Its exit code, when it has ended.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> Option<i32> {
        self.input = None;
        let status = wait::for_some("it ends", || self.child.try_wait().unwrap());
        status.code()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
