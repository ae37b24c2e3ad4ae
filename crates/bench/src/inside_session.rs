//! The host's end of a helper that runs inside a sandbox. The sandbox is what is under test, so
//! nothing that comes out of it is trusted: an answer has a time limit and a length limit, and
//! what does not parse ends the session.

use crate::measure::{Sample, TIMEOUT, outputs};
use bailiwick_event::Text;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, set_parent_process_death_signal};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The two outputs of a command, each at most 1 MiB, with every byte escaped.
const LINE_LIMIT: usize = 16 << 20;

/// A helper that runs inside one sandbox.
pub(crate) struct InsideSession {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    /// What the sandbox's program says, to tell why it ended.
    stderr: File,
    pending: Vec<u8>,
}

impl InsideSession {
    /// Starts the sandbox with the helper in it.
    ///
    /// # Errors
    /// A text when the sandbox's program cannot be started.
    pub(crate) fn start(
        argv: &[OsString],
        cwd: &Path,
        environment: &[(OsString, OsString)],
    ) -> Result<Self, String> {
        let mut command = command(argv)?;
        command
            .current_dir(cwd)
            .envs(environment.iter().map(|(k, v)| (k, v)));
        Self::begin(command)
    }

    /// Starts a program that the end of its input does not end, and that must not outlive the calling
    /// thread.
    ///
    /// # Errors
    /// A text when it cannot be started.
    pub(crate) fn start_bound(argv: &[OsString]) -> Result<Self, String> {
        let mut command = command(argv)?;
        let bind = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
        // SAFETY: between fork and exec nothing is done but one system call, which takes no lock and
        // touches no memory.
        unsafe { command.pre_exec(bind) };
        Self::begin(command)
    }

    fn begin(mut command: Command) -> Result<Self, String> {
        let (_, stderr) = outputs().map_err(|error| error.to_string())?;
        let errors = stderr.try_clone().map_err(|error| error.to_string())?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or("the helper has no output")?;
        Ok(Self {
            child,
            stdin,
            stdout,
            stderr,
            pending: Vec::new(),
        })
    }

    /// The process that was started: with a sandbox, its supervisor.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Has the command run once.
    ///
    /// # Errors
    /// A text when the helper does not answer, or not with a sample.
    pub(crate) fn step(&mut self) -> Result<Sample, String> {
        parse(&self.ask(b"\n", TIMEOUT)?)
    }

    /// Says a line, and returns the line that the helper answers within `limit`.
    ///
    /// # Errors
    /// A text when the helper does not answer.
    pub(crate) fn ask(&mut self, line: &[u8], limit: Duration) -> Result<Vec<u8>, String> {
        self.say(line)?;
        self.line(limit)
    }

    /// Says a line that has no answer.
    ///
    /// # Errors
    /// A text when the helper is gone.
    pub(crate) fn say(&mut self, line: &[u8]) -> Result<(), String> {
        let said = self.stdin.as_mut().map(|stdin| stdin.write_all(line));
        match said {
            Some(Ok(())) => Ok(()),
            _ => Err(self.ended_early()),
        }
    }

    /// The next line that the helper says, within `limit`.
    ///
    /// # Errors
    /// A text when it says none.
    pub(crate) fn hear(&mut self, limit: Duration) -> Result<Vec<u8>, String> {
        self.line(limit)
    }

    /// With the first line that was said on standard error.
    fn ended_early(&mut self) -> String {
        const ENDED: &str = "the helper inside the sandbox ended early";
        let mut said = Vec::new();
        let read = self
            .stderr
            .rewind()
            .and_then(|()| (&self.stderr).take(4096).read_to_end(&mut said));
        let said = String::from_utf8_lossy(&said);
        match said.lines().find(|line| !line.trim().is_empty()) {
            Some(line) if read.is_ok() => format!("{ENDED}: {}", Text::from(line)),
            _ => ENDED.to_owned(),
        }
    }

    fn line(&mut self, limit: Duration) -> Result<Vec<u8>, String> {
        let deadline = Instant::now() + limit;
        let mut chunk = [0; 65536];
        loop {
            if let Some(end) = self.pending.iter().position(|b| *b == b'\n') {
                let rest = self.pending.split_off(end + 1);
                return Ok(std::mem::replace(&mut self.pending, rest));
            }
            if self.pending.len() > LINE_LIMIT {
                return Err("the helper inside the sandbox answered without end".to_owned());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let limit = Timespec::try_from(left).ok();
            let mut set = [PollFd::new(&self.stdout, PollFlags::IN)];
            match poll(&mut set, limit.as_ref()) {
                Ok(0) => return Err("the helper inside the sandbox does not answer".to_owned()),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(format!("wait for the helper: {error}")),
            }
            match self.stdout.read(&mut chunk) {
                Ok(0) => return Err(self.ended_early()),
                Ok(n) => self.pending.extend_from_slice(&chunk[..n]),
                Err(error) => return Err(format!("read from the helper: {error}")),
            }
        }
    }
}

impl InsideSession {
    /// Ends the helper's input, which is its sign to leave, and waits until what was started has ended,
    /// at most this long.
    ///
    /// # Errors
    /// A text when it does not end, or not with 0.
    pub(crate) fn finish(mut self, limit: Duration) -> Result<(), String> {
        let pid = Pid::from_child(&self.child);
        let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| error.to_string())?;
        self.stdin = None;
        let limit = Timespec::try_from(limit).ok();
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], limit.as_ref()) {
            Ok(0) => return Err("it does not end".to_owned()),
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
        match self.child.wait() {
            Ok(end) if end.success() => Ok(()),
            Ok(end) => Err(format!("it ended with {end}")),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn command(argv: &[OsString]) -> Result<Command, String> {
    let (program, arguments) = argv.split_first().ok_or("the command is empty")?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

fn parse(line: &[u8]) -> Result<Sample, String> {
    serde_json::from_slice(line)
        .map_err(|error| format!("the helper inside the sandbox answered nonsense: {error}"))
}

impl Drop for InsideSession {
    fn drop(&mut self) {
        // The end of its input is the helper's sign to leave.
        self.stdin = None;
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
#[path = "inside_session_tests.rs"]
mod tests;
