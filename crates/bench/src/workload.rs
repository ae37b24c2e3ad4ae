//! What a row is, and what its command must have done. A verifier knows the exact result, so that
//! a command that failed fast, ran on an empty folder, or was answered by somebody else, is never
//! a sample.

use crate::act::file_name;
use crate::catalogue::TRUE;
use crate::extra::{self, Extra};
use crate::fixture::Fixture;
use crate::measure::{self, Sample};
use crate::profile::Profile;
use crate::program::{self, Program};
use crate::system::System;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What has to be true after a run, besides exit code 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Standard output is exactly this.
    Output(String),
    /// `path:count` lines with these sums.
    Counts { files: usize, matches: u64 },
    /// This folder holds so many files with their contents, and nothing else.
    Created {
        folder: PathBuf,
        files: usize,
        content: Content,
    },
    /// Every source of this project has its object file.
    Built(PathBuf),
}

/// What is in created files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Nothing.
    Empty,
    /// A line with the file's number.
    Line,
}

/// Which columns a row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// All but that of the sweep.
    All,
    /// Without a sandbox and whole runs: what is measured no other system has.
    Whole,
    /// Without a sandbox, and whole runs with each way of keeping absent names.
    Protections,
}

/// A command, as one system runs it.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Its words.
    pub argv: Vec<OsString>,
    /// The file of its program.
    pub path: PathBuf,
}

/// One row.
pub(crate) struct Workload {
    /// Its name in the table.
    pub name: String,
    /// What it is, independent of the machine: comparisons require it to be equal.
    pub definition: String,
    /// What a sample includes.
    pub includes: &'static str,
    /// What the verifier checks.
    pub verifier: String,
    /// Whether it is the one row of a command without files, where a peer needs no mounts.
    pub bare: bool,
    /// Which policy the product runs it under.
    pub profile: Profile,
    /// Its columns.
    pub columns: Columns,
    /// The workspace.
    pub workspace: PathBuf,
    /// Files that it alone needs.
    pub extra: Option<Extra>,
    /// A row whose runs take longer than some seconds has at most so many of them.
    pub most_runs: Option<u32>,
    /// After this a run is killed.
    pub time_limit: Duration,
    /// Whether what it does is counted where that is asked for. A build makes millions of calls.
    pub counted: bool,
    /// How many acts a run is made of, where it is one act again and again.
    pub acts: Option<usize>,
    /// Whether the sandbox, or without one the command, stands in the middle of a pipeline.
    pub piped: bool,
    /// The command in a sandbox; the name of the missing program where it is not installed.
    pub job: Result<Job, String>,
    /// The command without a sandbox, where that differs.
    pub plain: Option<Job>,
    pub expected: Expected,
}

impl Workload {
    /// A row in the common workspace, in every column.
    pub(crate) fn new(
        fixture: &Fixture,
        name: &str,
        program: &str,
        arguments: &[&str],
        expected: Expected,
    ) -> Self {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        Self {
            name: name.to_owned(),
            definition: name.to_owned(),
            includes: "fork, exec, the command, and its exit",
            verifier: match &expected {
                Expected::Output(text) => format!("exit code 0; output is exactly {text:?}"),
                Expected::Counts { files, matches } => {
                    format!("exit code 0; {matches} matches in {files} files")
                }
                Expected::Created { files, .. } => {
                    format!("exit code 0; {files} files exist with their contents")
                }
                Expected::Built(_) => {
                    format!("exit code 0; {} object files exist", extra::SOURCES)
                }
            },
            bare: false,
            profile: Profile::Default,
            columns: Columns::All,
            workspace: fixture.workspace(),
            extra: None,
            most_runs: None,
            time_limit: measure::TIMEOUT,
            counted: true,
            acts: None,
            piped: false,
            job: job(program, arguments),
            plain: None,
            expected,
        }
    }

    /// The same, defined by other words than its name.
    pub(crate) fn defined_as(self, definition: String) -> Self {
        Self { definition, ..self }
    }

    /// Whether it has this column.
    pub(crate) fn has(&self, system: &System) -> bool {
        match (self.columns, system) {
            (Columns::All, System::Sweep) => false,
            // A run with a network is entered no differently.
            (Columns::All, System::Exec | System::Warm) => self.profile == Profile::Default,
            // What differs between the ways to enter is the start.
            (Columns::All, System::Connection) => self.name == TRUE,
            (Columns::All, _) | (_, System::Plain | System::Cold | System::Against(_)) => true,
            (Columns::Protections, System::Sweep) => true,
            (Columns::Whole | Columns::Protections, _) => false,
        }
    }

    /// The copy of this program in its workspace.
    pub(crate) fn helper(&self) -> PathBuf {
        Fixture::helper_in(&self.workspace)
    }

    /// How many runs it has, where the caller wants `runs`.
    pub(crate) fn runs(&self, runs: u32) -> u32 {
        self.most_runs.map_or(runs, |most| most.min(runs))
    }

    /// The whole line to be timed, where `argv` is the command with what stands around it.
    pub(crate) fn line(&self, argv: Vec<OsString>) -> Vec<OsString> {
        if !self.piped {
            return argv;
        }
        let script = crate::catalogue::pipeline();
        let mut line: Vec<OsString> = ["sh", "-c", &script, "sh"].map(OsString::from).into();
        line.extend(argv);
        line
    }

    /// Puts the workspace into the state in which every run begins.
    pub(crate) fn prepare(&self) -> std::io::Result<()> {
        let folders = match &self.expected {
            Expected::Created { folder, .. } => vec![folder.clone()],
            Expected::Built(project) => vec![project.join("obj"), project.join("tmp")],
            Expected::Output(_) | Expected::Counts { .. } => Vec::new(),
        };
        for folder in folders {
            if folder.exists() {
                // Not removed before the benchmark's end: ext4 gives no number of a file that was
                // removed a short while ago to a new one, and looks long for another.
                let used = self.workspace.with_file_name("used");
                std::fs::create_dir_all(&used)?;
                let number = std::fs::read_dir(&used)?.count();
                std::fs::rename(&folder, used.join(number.to_string()))?;
            }
            std::fs::create_dir(folder)?;
        }
        Ok(())
    }

    /// Whether a run did what it should.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn verify(&self, sample: &Sample) -> Result<(), String> {
        if sample.code != Some(0) {
            return Err(sample.ending());
        }
        match &self.expected {
            Expected::Output(text) if sample.stdout.as_bytes() == text.as_bytes() => Ok(()),
            Expected::Output(text) => Err(format!(
                "printed \"{}\" instead of {text:?}",
                sample.stdout.clone().truncated(200)
            )),
            Expected::Counts { files, matches } => {
                let found = count(&sample.stdout.to_string_lossy());
                if found == Some((*files, *matches)) {
                    Ok(())
                } else {
                    Err(format!(
                        "found {found:?} (files, matches) instead of {:?}",
                        (files, matches)
                    ))
                }
            }
            Expected::Created {
                folder,
                files,
                content,
            } => created(folder, *files, *content),
            Expected::Built(project) => extra::built(project),
        }
    }
}

/// The command of an installed program; its name where it is not.
pub(crate) fn job(program: &str, arguments: Vec<OsString>) -> Result<Job, String> {
    let Program { word, path } =
        program::find(program).ok_or_else(|| format!("{program} is not installed"))?;
    let mut argv = vec![word];
    argv.extend(arguments);
    Ok(Job { argv, path })
}

/// The files with a match and the matches, of `path:count` lines.
fn count(output: &str) -> Option<(usize, u64)> {
    let (mut files, mut matches) = (0, 0u64);
    for line in output.lines() {
        let n: u64 = line.rsplit_once(':')?.1.parse().ok()?;
        files += usize::from(n > 0);
        matches = matches.checked_add(n)?;
    }
    Some((files, matches))
}

fn created(folder: &Path, files: usize, content: Content) -> Result<(), String> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .count();
    if entries != files {
        return Err(format!("{entries} files exist instead of {files}"));
    }
    for i in 0..files {
        let file = folder.join(file_name(i));
        let found = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let wanted = match content {
            Content::Empty => String::new(),
            Content::Line => format!("file {i}\n"),
        };
        if found != wanted.into_bytes() {
            return Err(format!("{} has the wrong content", file.display()));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "workload_tests.rs"]
mod tests;
