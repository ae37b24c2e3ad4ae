//! `bench count`: a process of its own that starts one command and counts what it and everything
//! that it starts does. It adopts what the command leaves behind, so that nothing of a sandbox
//! whose first process ends later is missed, and waits for no one else's children.
//!
//! Decision: two kinds of runs. Tracing changes when processes are switched, so that switches and
//! page faults are taken from the kernel's accounts of runs that nobody traces.

use crate::measure;
use crate::tracer::{Traced, Tracer, Waited};
use bailiwick_event::{Failure, Text};
use rustix::process::{Pid, set_child_subreaper};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Programs and system calls.
pub(crate) const CALLS: &str = "calls";
/// Context switches and page faults.
pub(crate) const SWITCHES: &str = "switches";
/// What a command left behind has so many seconds to end.
const AFTERWARDS: u32 = 10;

/// What was counted in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// Programs that were started, the command's own among them.
    pub execs: u64,
    /// System calls.
    pub calls: u64,
    /// Times that a process waited and another ran.
    pub voluntary: u64,
    /// Times that a process was made to wait.
    pub involuntary: u64,
    /// Page faults that needed no disk.
    pub minor: u64,
    /// Page faults that needed one.
    pub major: u64,
    /// The command's exit code; none after a signal.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output.
    pub stdout: Text,
    /// Standard error.
    pub stderr: Text,
}

/// Runs a command once, counts, and prints the result as one line of JSON.
///
/// # Errors
/// [`Failure::Usage`] without a command or kind, [`Failure::Fault`] when it cannot be started or
/// followed.
pub fn count(kind: &str, argv: &[OsString]) -> Result<(), Failure> {
    let [program, arguments @ ..] = argv else {
        return Err(Failure::usage("bench count: no command; write it after --"));
    };
    let fault = |error: io::Error| {
        let program = Text::from(program.as_os_str());
        Failure::fault(format!("bench count: {program}: {error}"))
    };
    let (stdout, stderr) = measure::outputs().map_err(fault)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(stdout.try_clone().map_err(fault)?)
        .stderr(stderr.try_clone().map_err(fault)?);
    set_child_subreaper(Some(Pid::INIT)).map_err(|error| fault(error.into()))?;
    let mut counted = match kind {
        CALLS => calls(command).map_err(fault)?,
        SWITCHES => switches(command).map_err(fault)?,
        _ => return Err(Failure::usage("bench count: calls or switches")),
    };
    counted.stdout = measure::contents(stdout).map_err(fault)?;
    counted.stderr = measure::contents(stderr).map_err(fault)?;
    crate::inside::print(&counted)
}

fn calls(command: Command) -> io::Result<Counted> {
    let tracer = Tracer::start(command)?;
    let own = i32::try_from(tracer.child.id()).unwrap_or(0);
    let (mut traced, mut counted) = (Traced::default(), Counted::default());
    loop {
        match tracer.step(&mut traced)? {
            Waited::Ended(pid, status) if pid == own => counted.end(status),
            Waited::Ended(..) | Waited::Stopped => {}
            Waited::None => break,
        }
    }
    (counted.execs, counted.calls) = (traced.execs, traced.calls);
    Ok(counted)
}

/// The kernel adds up what a process did with what those did that it waited for, so that the sum
/// over those that end here is the sum over all.
fn switches(mut command: Command) -> io::Result<Counted> {
    let own = i32::try_from(command.spawn()?.id()).unwrap_or(0);
    let mut counted = Counted::default();
    while let Some((pid, status, usage)) = measure::wait_for(-1)? {
        counted.voluntary += unsigned(usage.ru_nvcsw);
        counted.involuntary += unsigned(usage.ru_nivcsw);
        counted.minor += unsigned(usage.ru_minflt);
        counted.major += unsigned(usage.ru_majflt);
        if pid == own {
            counted.end(status);
        }
    }
    Ok(counted)
}

fn unsigned(n: libc::c_long) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

impl Counted {
    /// The command has ended; what it left behind may not go on for ever.
    fn end(&mut self, status: i32) {
        self.code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        self.signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
        // SAFETY: the call takes a number; its signal ends this process, which has no handler.
        unsafe { libc::alarm(AFTERWARDS) };
    }
}

/// The command line of a helper that counts in a run of `argv`.
pub(crate) fn command(helper: &Path, kind: &str, argv: &[OsString]) -> Vec<OsString> {
    let mut whole: Vec<OsString> = vec![helper.into()];
    whole.extend(["bench", "count", kind, "--"].map(OsString::from));
    whole.extend(argv.iter().cloned());
    whole
}

#[cfg(test)]
#[path = "count_tests.rs"]
mod tests;
