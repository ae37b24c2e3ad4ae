//! Whether a sandbox is one. Before a system is timed on a row, the very same configuration must
//! refuse what every profile forbids; otherwise a program that isolates nothing is the fastest
//! sandbox of all. The truth is what the host sees afterwards, and the attempt's own report must
//! be there too, because a sandbox in which nothing was attempted proves nothing.

use crate::inside::TRESPASS;
use crate::measure;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The acts, by the names under which they stand in a row.
pub(crate) const CHECKS: &str = "write-outside, connect-loopback";
const UNTOUCHED: &[u8] = b"untouched\n";

/// What a forbidden act came to, as the one that tried it reports it: none when it succeeded, or
/// the error.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trespass {
    overwrite: Option<String>,
    create: Option<String>,
    connect: Option<String>,
}

impl Trespass {
    /// Tries to change and to create a file in `directory`, and to connect to `address`.
    pub(crate) fn attempt(directory: &Path, address: SocketAddr) -> Self {
        let error = |result: io::Result<()>| result.err().map(|e| e.to_string());
        Self {
            overwrite: error(std::fs::write(canary(directory), "touched\n")),
            create: error(std::fs::write(egg(directory), "new\n")),
            connect: error(TcpStream::connect_timeout(&address, Duration::from_secs(5)).map(drop)),
        }
    }

    fn acts(&self) -> [(&'static str, &Option<String>); 3] {
        [
            ("change a file outside the workspace", &self.overwrite),
            ("create a file outside the workspace", &self.create),
            ("connect to a server on the host's loopback", &self.connect),
        ]
    }
}

fn canary(directory: &Path) -> PathBuf {
    directory.join("canary")
}
fn egg(directory: &Path) -> PathBuf {
    directory.join("egg")
}

/// The result of one check, as evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InForce {
    /// What was tried.
    pub checks: String,
    /// Whether all of it was refused.
    pub holds: bool,
    /// What was not, or how it was refused.
    pub detail: String,
}

/// A folder and a server that nobody inside a sandbox may touch.
pub(crate) struct Yard {
    directory: PathBuf,
    listener: TcpListener,
    address: SocketAddr,
}

/// What the host sees after an attempt.
struct Observation {
    report: Result<Trespass, String>,
    changed: bool,
    created: bool,
    connections: u32,
}

impl Yard {
    /// Listens on loopback; `directory` is recreated before every attempt.
    pub(crate) fn new(directory: PathBuf) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self {
            directory,
            listener,
            address,
        })
    }

    /// The command that makes the attempt; `helper` is the program's copy in the workspace.
    pub(crate) fn command(&self, helper: &Path) -> Vec<OsString> {
        let mut argv = vec![helper.into()];
        argv.extend(["bench", "inside", "--runs", "1", "--", TRESPASS].map(OsString::from));
        argv.push(self.directory.clone().into());
        argv.push(self.address.to_string().into());
        argv
    }

    /// Has `argv`, a sandbox around [`Yard::command`], try everything.
    pub(crate) fn check(
        &self,
        argv: &[OsString],
        cwd: &Path,
        environment: &[(OsString, OsString)],
    ) -> io::Result<InForce> {
        let seen = self.attempt(argv, cwd, environment)?;
        let mut breaches = Vec::new();
        if seen.changed {
            breaches.push("a file outside the workspace was changed".to_owned());
        }
        if seen.created {
            breaches.push("a file outside the workspace was created".to_owned());
        }
        if seen.connections > 0 {
            breaches.push("a server on the host's loopback was reached".to_owned());
        }
        let mut refusals = Vec::new();
        match &seen.report {
            Err(reason) => breaches.push(format!("the attempt was not made: {reason}")),
            Ok(report) => {
                for (act, error) in report.acts() {
                    match error {
                        Some(error) => refusals.push(format!("{act}: {error}")),
                        None => breaches.push(format!("it could {act}")),
                    }
                }
            }
        }
        Ok(InForce {
            checks: CHECKS.to_owned(),
            holds: breaches.is_empty(),
            detail: match breaches.is_empty() {
                true => refusals.join("; "),
                false => breaches.join("; "),
            },
        })
    }

    /// The positive control: without a sandbox all of it succeeds, and the host sees it.
    pub(crate) fn control(&self, helper: &Path, cwd: &Path) -> io::Result<Result<(), String>> {
        let seen = self.attempt(&self.command(helper), cwd, &[])?;
        let report = match seen.report {
            Ok(report) => report,
            Err(reason) => return Ok(Err(reason)),
        };
        for (act, error) in report.acts() {
            if let Some(error) = error {
                return Ok(Err(format!("could not {act}: {error}")));
            }
        }
        if seen.changed && seen.created && seen.connections > 0 {
            Ok(Ok(()))
        } else {
            Ok(Err("the host saw nothing of it".to_owned()))
        }
    }

    fn attempt(
        &self,
        argv: &[OsString],
        cwd: &Path,
        environment: &[(OsString, OsString)],
    ) -> io::Result<Observation> {
        if self.directory.exists() {
            std::fs::remove_dir_all(&self.directory)?;
        }
        std::fs::create_dir_all(&self.directory)?;
        std::fs::write(canary(&self.directory), UNTOUCHED)?;
        self.connections()?;
        let sample = measure::run(argv, cwd, environment)?;
        Ok(Observation {
            report: parse(sample.stdout.as_bytes()).ok_or_else(|| sample.ending()),
            changed: std::fs::read(canary(&self.directory)).ok().as_deref() != Some(UNTOUCHED),
            created: egg(&self.directory).exists(),
            connections: self.connections()?,
        })
    }

    /// How many connections came since it was last asked. A connection waits in the queue until
    /// then, so none can be missed.
    fn connections(&self) -> io::Result<u32> {
        let mut count = 0;
        loop {
            match self.listener.accept() {
                Ok(_) => count += 1,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(count),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The report among whatever else a sandbox prints.
fn parse(stdout: &[u8]) -> Option<Trespass> {
    stdout
        .split(|b| *b == b'\n')
        .find_map(|line| serde_json::from_slice(line).ok())
}

#[cfg(test)]
#[path = "in_force_tests.rs"]
mod tests;
