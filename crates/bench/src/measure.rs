//! One run of one command, timed. The clock starts before the fork and stops when the process has
//! ended, and nothing that the bench itself does for its bookkeeping lies in between: output goes
//! to anonymous memory, not through a pipe that somebody has to empty.

use bailiwick_event::Text;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// After this a run is killed: no command takes a tenth of it, but for rows that say otherwise.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
/// More output than this is not kept: no workload prints a hundredth of it.
const OUTPUT_LIMIT: u64 = 1 << 20;

/// What one run was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Wall-clock nanoseconds (CLOCK_MONOTONIC) from before the fork to the end of the process.
    pub ns: u64,
    /// Nanoseconds for which the process was runnable and had no CPU.
    pub wait_ns: u64,
    /// Nanoseconds for which the process ran.
    pub run_ns: u64,
    /// User CPU time in microseconds, of the process and everything that it waited for.
    pub user_us: u64,
    /// System CPU time in microseconds, the same.
    pub system_us: u64,
    /// The exit code; none after a signal.
    pub code: Option<i32>,
    /// The signal that ended it; 9 after the time limit.
    pub signal: Option<i32>,
    /// Standard output.
    pub stdout: Text,
    /// Standard error.
    pub stderr: Text,
}

impl Sample {
    /// How it ended, and the first line that it said about it.
    pub(crate) fn ending(&self) -> String {
        let how = match (self.code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "ended in an unknown way".to_owned(),
        };
        let said = self.stderr.to_string_lossy();
        match said.lines().map(str::trim).find(|line| !line.is_empty()) {
            Some(line) => format!("{how}: {}", Text::from(line)),
            None => how,
        }
    }
}

/// Runs a command to its end, in `cwd`, with the caller's environment and `environment` on top.
///
/// # Errors
/// When the program cannot be started or waited for.
pub(crate) fn run(
    argv: &[OsString],
    cwd: &Path,
    environment: &[(OsString, OsString)],
) -> io::Result<Sample> {
    run_within(TIMEOUT, argv, cwd, environment)
}

/// The same, with another limit of time.
///
/// # Errors
/// When the program cannot be started or waited for.
pub(crate) fn run_within(
    limit: Duration,
    argv: &[OsString],
    cwd: &Path,
    environment: &[(OsString, OsString)],
) -> io::Result<Sample> {
    let (program, arguments) = argv
        .split_first()
        .ok_or_else(|| io::Error::other("the command is empty"))?;
    let (stdout, stderr) = outputs()?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(cwd)
        .envs(environment.iter().map(|(k, v)| (k, v)))
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .process_group(0);

    let start = Instant::now();
    let child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let late = wait_until_ended(pid, limit)?;
    let ns = nanoseconds(start.elapsed());

    let (run_ns, wait_ns) = schedstat(pid).unwrap_or((0, 0));
    let (status, usage) = reap(pid)?;
    Ok(Sample {
        ns,
        wait_ns,
        run_ns,
        user_us: microseconds(usage.ru_utime),
        system_us: microseconds(usage.ru_stime),
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: match libc::WIFSIGNALED(status) {
            true => Some(libc::WTERMSIG(status)),
            false => late.then_some(libc::SIGKILL),
        },
        stdout: contents(stdout)?,
        stderr: contents(stderr)?,
    })
}

/// Files in memory for what a command prints.
pub(crate) fn outputs() -> io::Result<(File, File)> {
    let memory = |name| memfd_create(name, MemfdFlags::CLOEXEC).map(File::from);
    Ok((memory("stdout")?, memory("stderr")?))
}

/// What was printed to one of them.
pub(crate) fn contents(mut file: File) -> io::Result<Text> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(OUTPUT_LIMIT).read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

/// Waits for the end of `pid` and leaves it as a zombie, so that its scheduler statistics can
/// still be read. True when it had to be killed.
fn wait_until_ended(pid: Pid, limit: Duration) -> io::Result<bool> {
    let mut late = false;
    // Where the kernel or an outer sandbox has no pidfd there is no time limit, only the wait.
    if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) {
        let limit = Timespec::try_from(limit).ok();
        let mut set = [PollFd::new(&handle, PollFlags::IN)];
        late = retry(|| poll(&mut set, limit.as_ref()))? == 0;
        if late {
            kill_process_group(pid, Signal::KILL)?;
        }
    }
    retry(|| {
        waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        )
    })?;
    Ok(late)
}

fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            other => return other.map_err(Into::into),
        }
    }
}

/// Nanoseconds on a CPU and nanoseconds in a run queue, of one process. None where the kernel
/// keeps no such account.
pub(crate) fn schedstat(pid: Pid) -> Option<(u64, u64)> {
    let path = format!("/proc/{}/schedstat", pid.as_raw_nonzero());
    parse_schedstat(&std::fs::read_to_string(path).ok()?)
}

fn parse_schedstat(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_ascii_whitespace();
    let run = words.next()?.parse().ok()?;
    let wait = words.next()?.parse().ok()?;
    Some((run, wait))
}

fn reap(pid: Pid) -> io::Result<(i32, libc::rusage)> {
    match wait_for(pid.as_raw_nonzero().get())? {
        Some((_, status, usage)) => Ok((status, usage)),
        None => Err(io::Error::from_raw_os_error(libc::ECHILD)),
    }
}

/// Waits for the end of a child, or of any where `pid` is -1. None where there is no child.
pub(crate) fn wait_for(pid: i32) -> io::Result<Option<(i32, i32, libc::rusage)>> {
    let mut status = 0;
    // SAFETY: rusage is a C structure of integers, for which all bits zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live locals of the right type.
        let ended = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if ended >= 0 {
            return Ok(Some((ended, status, usage)));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ECHILD) => return Ok(None),
            _ => return Err(error),
        }
    }
}

fn microseconds(time: libc::timeval) -> u64 {
    u64::try_from(time.tv_sec * 1_000_000 + time.tv_usec).unwrap_or(0)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
