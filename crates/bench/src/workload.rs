//! The commands of the suite and what each must have done. A row is an act that agents perform all
//! day; its verifier knows the exact result, so that a command that failed fast, ran on an empty
//! folder, or was answered by somebody else, is never a sample.

use crate::fixture::{CREATED_FILES, Fixture, MATCHES, MATCHING_FILES, status_text};
use crate::measure::Sample;
use crate::program::{self, Program};
use crate::server::BODY;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What has to be true after a run, besides exit code 0.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expected {
    /// Standard output is exactly this.
    Output(String),
    /// `path:count` lines with these sums.
    Counts { files: usize, matches: u64 },
    /// This folder holds the created files with their contents, and nothing else.
    Created(PathBuf),
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
    /// Whether it needs the policy with the server in it.
    pub network: bool,
    /// The command in a sandbox; the name of the missing program where it is not installed.
    pub job: Result<Job, String>,
    /// The command without a sandbox, where that differs.
    pub plain: Option<Job>,
    expected: Expected,
}

impl Workload {
    /// The suite's rows, in the table's order.
    pub(crate) fn all(fixture: &Fixture, server: Option<SocketAddr>) -> Vec<Self> {
        let nothing = || Expected::Output(String::new());
        let mut rows = vec![
            Self::new("true", "true", &[], nothing()).bare(),
            Self::new(
                "echo",
                "echo",
                &["bailiwick"],
                Expected::Output("bailiwick\n".to_owned()),
            ),
            Self::new("python3 -c pass", "python3", &["-c", "pass"], nothing()),
            Self::new("node -e ''", "node", &["-e", ""], nothing()),
            git_status(fixture),
            search(fixture),
            create_files(fixture),
        ];
        if let Some(address) = server {
            rows.push(fetch(address));
        }
        rows
    }

    fn new(name: &str, program: &str, arguments: &[&str], expected: Expected) -> Self {
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
                Expected::Created(_) => {
                    format!("exit code 0; {CREATED_FILES} files exist with their contents")
                }
            },
            bare: false,
            network: false,
            job: job(program, arguments),
            plain: None,
            expected,
        }
    }

    fn bare(self) -> Self {
        Self { bare: true, ..self }
    }

    fn defined_as(self, definition: String) -> Self {
        Self { definition, ..self }
    }

    /// Puts the workspace into the state in which every run begins.
    pub(crate) fn prepare(&self) -> std::io::Result<()> {
        if let Expected::Created(directory) = &self.expected {
            if directory.exists() {
                std::fs::remove_dir_all(directory)?;
            }
            std::fs::create_dir(directory)?;
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
            Expected::Created(directory) => created(directory),
        }
    }
}

fn job(program: &str, arguments: Vec<OsString>) -> Result<Job, String> {
    let Program { word, path } =
        program::find(program).ok_or_else(|| format!("{program} is not installed"))?;
    let mut argv = vec![word];
    argv.extend(arguments);
    Ok(Job { argv, path })
}

fn git_status(fixture: &Fixture) -> Workload {
    let repository = fixture.repository();
    let repository = repository.to_string_lossy();
    let arguments = [
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.untrackedCache=false",
        "--no-optional-locks",
        "-C",
        &repository,
        "status",
        "--porcelain",
        "--untracked-files=normal",
    ];
    Workload::new(
        "git status",
        "git",
        &arguments,
        Expected::Output(status_text()),
    )
    .defined_as("git status --porcelain of 200 files, 3 modified, 2 untracked".to_owned())
}

fn search(fixture: &Fixture) -> Workload {
    let tree = fixture.tree();
    let tree = tree.to_string_lossy();
    let expected = Expected::Counts {
        files: MATCHING_FILES,
        matches: MATCHES,
    };
    if program::find("rg").is_some() {
        let arguments = [
            "--no-config",
            "--no-ignore",
            "--count-matches",
            "needle",
            &tree,
        ];
        Workload::new("rg, 763 files", "rg", &arguments, expected)
            .defined_as("rg --count-matches over 763 generated files".to_owned())
    } else {
        Workload::new(
            "grep -r, 763 files (rg is absent)",
            "grep",
            &["-rc", "needle", &tree],
            expected,
        )
        .defined_as("grep -rc over 763 generated files".to_owned())
    }
}

fn create_files(fixture: &Fixture) -> Workload {
    let directory = fixture.created();
    let script = format!(
        "i=0; while [ $i -lt {CREATED_FILES} ]; do echo \"file $i\" >\"$1/f$i\"; i=$((i+1)); done"
    );
    let arguments = ["-c", &script, "sh", &directory.to_string_lossy()];
    Workload::new(
        "create 1,000 files",
        "sh",
        &arguments,
        Expected::Created(directory.clone()),
    )
    .defined_as(format!("sh creates {CREATED_FILES} files of one line"))
}

fn fetch(address: SocketAddr) -> Workload {
    const URL: &str = "http://bench.test/";
    let plain = [
        "-sS",
        "--noproxy",
        "*",
        "--connect-to",
        &format!("bench.test:80:{address}"),
        URL,
    ];
    Workload {
        network: true,
        includes: "fork, exec, the command with one plain HTTP request to a server on the host's \
                   loopback, and its exit",
        plain: job("curl", plain.iter().map(OsString::from).collect()).ok(),
        ..Workload::new(
            "curl, loopback",
            "curl",
            &["-sS", URL],
            Expected::Output(BODY.to_owned()),
        )
    }
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

fn created(directory: &std::path::Path) -> Result<(), String> {
    let entries = std::fs::read_dir(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?
        .count();
    if entries != CREATED_FILES {
        return Err(format!("{entries} files exist instead of {CREATED_FILES}"));
    }
    for i in 0..CREATED_FILES {
        let file = directory.join(format!("f{i}"));
        let content =
            std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        if content != format!("file {i}\n").into_bytes() {
            return Err(format!("{} has the wrong content", file.display()));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "workload_tests.rs"]
mod tests;
