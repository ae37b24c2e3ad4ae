//! A process of the product that goes on while a cell is measured: the run that is entered, or what
//! keeps sandboxes waiting. It is started before the first sample and ended after the last.

use crate::measure::TIMEOUT;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The process; dropping it ends it.
pub(crate) struct Companion(Child);

impl Companion {
    /// Starts it and waits until it says that it is ready, by its first line.
    ///
    /// # Errors
    /// A text when it cannot be started or says nothing.
    pub(crate) fn start(
        argv: &[OsString],
        cwd: &Path,
        environment: &[(OsString, OsString)],
    ) -> Result<Self, String> {
        let (program, arguments) = argv.split_first().ok_or("the command is empty")?;
        let child = Command::new(program)
            .args(arguments)
            .current_dir(cwd)
            .envs(environment.iter().map(|(k, v)| (k, v)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.to_string_lossy()))?;
        let mut companion = Self(child);
        companion.wait_until_ready()?;
        Ok(companion)
    }

    /// The process's number.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    fn wait_until_ready(&mut self) -> Result<(), String> {
        let mut stdout = self.0.stdout.take().ok_or("it has no output")?;
        let limit = Timespec::try_from(TIMEOUT).ok();
        let mut set = [PollFd::new(&stdout, PollFlags::IN)];
        let ready = poll(&mut set, limit.as_ref()).map_err(|error| error.to_string())?;
        let mut first = [0; 256];
        match ready > 0 && stdout.read(&mut first).is_ok_and(|length| length > 0) {
            true => {
                // It may say more, which must not end it.
                self.0.stdout = Some(stdout);
                Ok(())
            }
            false => Err("what the command would enter does not start".to_owned()),
        }
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline {
            match self.0.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
#[path = "companion_tests.rs"]
mod tests;
