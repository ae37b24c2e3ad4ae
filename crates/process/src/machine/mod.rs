//! What only root can change about a machine so that sandboxes can be had, or limits be exact
//! (`bailiwick setup`).
//!
//! Decision: a change is one file, marked as ours, and the one command that makes the system read
//! it. A file that is not marked is somebody else's and is never written or removed. No run ever
//! changes the machine.

mod apparmor;
mod delegate;

use bailiwick_event::Failure;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use apparmor::apparmor;
pub use delegate::delegate;

/// The first line of every file of ours.
const MARK: &str = "# Made by `bailiwick setup`; `bailiwick setup";

/// A file, and how the system is told of it.
#[derive(Debug)]
pub struct Change {
    /// The word after `bailiwick setup`.
    pub name: &'static str,
    /// The file.
    pub file: PathBuf,
    /// All of it.
    pub content: String,
    /// What makes the system read it.
    load: Vec<String>,
    /// What makes the system forget it.
    forget: Forget,
    /// What the user should know when it is done.
    pub note: String,
}

/// How a file is forgotten.
#[derive(Debug)]
enum Forget {
    /// By a command that reads it once more.
    Before(Vec<String>),
    /// By the command that reads all files.
    After(Vec<String>),
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The file was written, or removed.
    Changed,
    /// It was as it should be.
    AsItWas,
}

/// Whether this process may change the machine.
#[must_use]
pub fn may_change() -> bool {
    rustix::process::geteuid().is_root()
}

/// The whole file, with the line that marks it.
fn marked(name: &str, lines: &str) -> String {
    format!("{MARK} {name} --remove` takes it away.\n{lines}")
}

impl Change {
    /// The commands that [`Change::make`] would run, as a person would type them.
    #[must_use]
    pub fn command(&self) -> String {
        self.load.join(" ")
    }

    /// Makes the change.
    ///
    /// # Errors
    /// The file is somebody else's or cannot be written, or the system does not take it; then
    /// nothing is left of it.
    pub fn make(&self) -> Result<Done, Failure> {
        let before = self.read()?;
        if before.as_ref() == Some(&self.content) {
            return Ok(Done::AsItWas);
        }
        self.write(&self.content)?;
        if let Err(failure) = run(&self.load) {
            let _ = match before {
                Some(before) => self.write(&before),
                None => fs::remove_file(&self.file).map_err(|e| self.fault(&e)),
            };
            return Err(failure);
        }
        Ok(Done::Changed)
    }

    /// Takes the change back.
    ///
    /// # Errors
    /// The file is somebody else's or cannot be removed, or the system does not forget it.
    pub fn remove(&self) -> Result<Done, Failure> {
        if self.read()?.is_none() {
            return Ok(Done::AsItWas);
        }
        if let Forget::Before(command) = &self.forget {
            run(command)?;
        }
        fs::remove_file(&self.file).map_err(|error| self.fault(&error))?;
        if let Forget::After(command) = &self.forget {
            run(command)?;
        }
        Ok(Done::Changed)
    }

    /// The file, where there is one.
    fn read(&self) -> Result<Option<String>, Failure> {
        let content = match fs::read_to_string(&self.file) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.fault(&error)),
        };
        match content.starts_with(MARK) {
            true => Ok(Some(content)),
            false => Err(Failure::fault(format!(
                "{} was not made by bailiwick and stays as it is\n  remedy: move it away, or make \
                 the change in it yourself",
                self.file.display()
            ))),
        }
    }

    /// Writes the file as a whole or not at all.
    fn write(&self, content: &str) -> Result<(), Failure> {
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let new = folder.join(format!(".{name}.new"));
        let written = fs::create_dir_all(folder).and_then(|()| {
            let _ = fs::remove_file(&new);
            let mut options = fs::OpenOptions::new();
            let mut file = options
                .write(true)
                .create_new(true)
                .mode(0o644)
                .open(&new)?;
            file.write_all(content.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.file)
        });
        written.map_err(|error| {
            let _ = fs::remove_file(&new);
            self.fault(&error)
        })
    }

    fn fault(&self, error: &io::Error) -> Failure {
        Failure::fault(format!("{}: {error}", self.file.display()))
    }
}

/// Runs a command of the system's administration.
fn run(command: &[String]) -> Result<(), Failure> {
    let line = command.join(" ");
    let output = Command::new(&command[0])
        .args(&command[1..])
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output()
        .map_err(|error| Failure::fault(format!("{line}: {error}")))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Failure::fault(format!(
            "{line}: {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
