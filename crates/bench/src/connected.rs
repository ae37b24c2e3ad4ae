//! The client of a program that starts many commands in one sandbox: it connects once, and each command
//! enters through that connection. What is timed is what such a program waits for.

use crate::inside::print;
use crate::measure::{Sample, contents, outputs};
use bailiwick_event::Failure;
use bailiwick_sandbox::Connection;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead};
use std::os::fd::AsFd;
use std::time::Instant;

/// `bench connected --runs N SESSION -- CMD`: connects to a run; then, for each line on standard
/// input, at most `runs` times, has the command enter it and prints its sample as one line of JSON.
///
/// # Errors
/// A [`Failure`] where there is no such run, or it goes away.
pub fn connected(session: &str, runs: u32, argv: &[OsString]) -> Result<(), Failure> {
    let fault = |error: io::Error| Failure::fault(format!("bench connected: {error}"));
    let connection = Connection::open(session)?;
    let null = File::open("/dev/null").map_err(fault)?;
    let mut lines = io::stdin().lock().lines();
    for _ in 0..runs {
        match lines.next() {
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(fault(error)),
            None => break,
        }
        let (stdout, stderr) = outputs().map_err(fault)?;
        let start = Instant::now();
        let streams = [null.as_fd(), stdout.as_fd(), stderr.as_fd()];
        let finished = connection.run(argv.to_vec(), streams)?;
        let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        print(&Sample {
            ns,
            // Others do the work, and their times are not this process's to know.
            wait_ns: 0,
            run_ns: 0,
            user_us: 0,
            system_us: 0,
            code: Some(finished.code.into()),
            signal: None,
            stdout: contents(stdout).map_err(fault)?,
            stderr: contents(stderr).map_err(fault)?,
        })?;
    }
    Ok(())
}
