//! What the bench does inside a sandbox. The clock has to stand where the agent stands, so a copy
//! of the program lies in the workspace and times there; it runs one command each time it is told
//! to, so that its samples interleave with those of the other systems. The same copy tries what
//! is forbidden, so that a check does not depend on which tools a sandbox shows.

use crate::in_force::Trespass;
use crate::measure;
use bailiwick_event::Failure;
use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::path::Path;

/// In place of a command: try what must not work. A path or a program cannot have this name.
pub(crate) const TRESPASS: &str = ":trespass";

/// `bench inside --runs N -- CMD`: for each line on standard input, at most `runs` times, runs the
/// command and prints its sample (nanoseconds, exit code, output) as one line of JSON.
///
/// # Errors
/// [`Failure::Usage`] without a command; [`Failure::Fault`] when the command cannot be started or
/// the results cannot be written.
pub fn inside(runs: u32, argv: &[OsString]) -> Result<(), Failure> {
    match argv {
        [] => Err(Failure::usage(
            "bench inside: no command; write it after --",
        )),
        [word, directory, address] if word == TRESPASS => {
            let address = address
                .to_str()
                .and_then(|a| a.parse().ok())
                .ok_or_else(|| Failure::usage("bench inside: not an address and port"))?;
            print(&Trespass::attempt(Path::new(directory), address))
        }
        argv => serve(runs, argv),
    }
}

fn serve(runs: u32, argv: &[OsString]) -> Result<(), Failure> {
    let mut lines = std::io::stdin().lock().lines();
    for _ in 0..runs {
        match lines.next() {
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(fault("read standard input", &error)),
            None => break,
        }
        let sample = measure::run(argv, Path::new("."), &[])
            .map_err(|error| fault(&argv[0].to_string_lossy(), &error))?;
        print(&sample)?;
    }
    Ok(())
}

/// Prints a helper's answer, one line.
pub(crate) fn print(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut line = serde_json::to_vec(value)
        .map_err(|error| Failure::fault(format!("bench inside: {error}")))?;
    line.push(b'\n');
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(&line)
        .and_then(|()| stdout.flush())
        .map_err(|error| fault("write standard output", &error))
}

fn fault(what: &str, error: &std::io::Error) -> Failure {
    Failure::fault(format!("bench inside: {what}: {error}"))
}
