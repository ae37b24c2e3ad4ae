//! Another process of this program, for what this one cannot do: a sandbox must be begun before there is
//! any thread, and there is one already.

use bailiwick_event::Failure;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// This program's own file.
pub(crate) fn file() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|e| Failure::fault(format!("this program's own file cannot be found: {e}")))
}

/// `bailiwick image …`. It reads nothing of the caller's stdin, and what it prints is not the command's
/// output.
pub(crate) fn image(words: &[&str]) -> Result<Command, Failure> {
    let mut command = Command::new(file()?);
    command
        .arg("image")
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    Ok(command)
}
