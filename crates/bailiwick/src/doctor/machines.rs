//! Runs of machines for the doctor: this program, as a user would call it, with a policy and a state of
//! the doctor's own.

use crate::doctor::report::Checked;
use crate::machine::MachineArguments;
use bailiwick_event::{Failure, Text};
use bailiwick_vm::Found;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The guest's binary, where it is in a machine.
const GUEST: &str = "/run/bailiwick/guest";
/// The size of a doctor's terminal: one that nobody has.
pub(super) const SIZE: (u16, u16) = (37, 111);

/// Variables that a host may have, by which programs of a machine would be led astray, or which are its
/// secrets. None of them may arrive.
const PLANTED: [(&str, &str); 9] = [
    // Empty, so that this machine's own loader has nothing to complain about.
    ("LD_PRELOAD", ""),
    ("LD_LIBRARY_PATH", "/nonexistent/bailiwick-doctor"),
    ("LD_AUDIT", ""),
    ("BASH_ENV", "/nonexistent/bailiwick-doctor"),
    ("PYTHONSTARTUP", "/nonexistent/bailiwick-doctor"),
    ("NODE_OPTIONS", "--no-deprecation"),
    ("GIT_SSH_COMMAND", "/nonexistent/bailiwick-doctor"),
    ("SSH_AUTH_SOCK", "/nonexistent/bailiwick-doctor"),
    ("AWS_SECRET_ACCESS_KEY", "bailiwick-doctor"),
];

/// What every machine of one doctor shares.
pub(super) struct Machines {
    folder: PathBuf,
    shape: Vec<String>,
    found: Found,
}

fn fault(what: &str) -> impl Fn(std::io::Error) -> Failure + '_ {
    move |error| Failure::fault(format!("{what}: {error}"))
}

impl Machines {
    /// Machines of this shape whose files are in this folder, which has `workspace` and `policy.toml`.
    pub(super) fn new(
        folder: &Path,
        asked: &MachineArguments,
        cold: bool,
    ) -> Result<Self, Failure> {
        let mut shape = Vec::new();
        if let Some(image) = &asked.image {
            shape.extend(["--image".to_owned(), image.clone()]);
        }
        if let Some(memory) = asked.memory {
            shape.extend(["--memory".to_owned(), format!("{memory}B")]);
        }
        if let Some(cpus) = asked.cpus {
            shape.extend(["--cpus".to_owned(), cpus.to_string()]);
        }
        if cold {
            shape.push("--cold".to_owned());
        }
        Ok(Self {
            folder: folder.into(),
            shape,
            found: asked.shape(cold).found()?,
        })
    }

    /// What the machines run on, and why.
    pub(super) fn found(&self) -> &Found {
        &self.found
    }

    /// The workspace of all of them.
    pub(super) fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    fn own(&self, words: &[&str]) -> Command {
        let mut command = Command::new("/proc/self/exe");
        command
            .args(words)
            .args(&self.shape)
            .current_dir(self.workspace())
            // Its sessions are nobody's, and the user's own policy is not what is tried.
            .env("XDG_STATE_HOME", self.folder.join("state"))
            .env("XDG_CONFIG_HOME", self.folder.join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A machine in which the guest's binary is run with these words.
    fn run(&self, words: &[String]) -> Command {
        let mut command = self.own(&["run", "--backend", "vm"]);
        command
            .arg("--workspace")
            .arg(self.workspace())
            .arg("--policy")
            .arg(self.folder.join("policy.toml"))
            .args(["--", GUEST])
            .args(words)
            .envs(PLANTED)
            // What the image has is looked at, not what the caller has installed.
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            )
            .env("LANG", "C.UTF-8");
        command
    }

    /// Runs the guest's checks of these names.
    pub(super) fn checks(&self, only: &[&str], told: &[String]) -> Result<Vec<Checked>, Failure> {
        let mut child = self
            .run(&Self::words(only, told))
            .spawn()
            .map_err(fault("the machine"))?;
        let stdout = child.stdout.take();
        finish(child, stdout, only)
    }

    /// The same at a terminal of its own.
    pub(super) fn checks_at_terminal(
        &self,
        only: &[&str],
        told: &[String],
    ) -> Result<Vec<Checked>, Failure> {
        let (master, slave) = terminal().map_err(fault("a terminal"))?;
        let stdin = slave.try_clone().map_err(fault("a terminal"))?;
        let child = self
            .run(&Self::words(only, told))
            .stdin(stdin)
            .stdout(slave)
            .spawn()
            .map_err(fault("the machine"))?;
        // The command that held the other side is gone by now, so that an end is seen.
        finish(child, Some(File::from(master)), only)
    }

    /// Runs the guest's binary and hands its output on; whether it ended well is in the result.
    pub(super) fn output<T>(
        &self,
        words: &[String],
        read: impl FnOnce(&mut dyn Read) -> Result<T, String>,
    ) -> Result<T, String> {
        let mut child = self.run(words).spawn().map_err(|error| error.to_string())?;
        let mut stdout = child.stdout.take().ok_or("no output")?;
        let found = read(&mut stdout);
        drop(stdout);
        let ended = child
            .wait_with_output()
            .map_err(|error| error.to_string())?;
        match ended.status.success() {
            true => found,
            false => Err(format!("{}: {}", ended.status, last(&ended.stderr))),
        }
    }

    /// One start, as `bailiwick boot --json` tells of it.
    pub(super) fn boot(&self, cold: bool) -> Result<serde_json::Value, Failure> {
        let mut command = self.own(&["boot", "--json"]);
        if cold && !self.shape.iter().any(|word| word == "--cold") {
            command.arg("--cold");
        }
        let ended = command.output().map_err(fault("a start"))?;
        serde_json::from_slice(&ended.stdout)
            .map_err(|_| Failure::fault(format!("a start: {}", last(&ended.stderr))))
    }

    fn words(only: &[&str], told: &[String]) -> Vec<String> {
        let only = only.iter().flat_map(|name| ["--only", name]);
        let words = ["doctor"].into_iter().chain(only).map(str::to_owned);
        words.chain(told.iter().cloned()).collect()
    }
}

/// A terminal: the caller's side and the machine's.
fn terminal() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let master = rustix::fs::open("/dev/ptmx", flags, Mode::empty())?;
    unlockpt(&master)?;
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    let (ws_row, ws_col) = SIZE;
    tcsetwinsize(
        &slave,
        Winsize {
            ws_row,
            ws_col,
            ws_xpixel: 0,
            ws_ypixel: 0,
        },
    )?;
    Ok((master, slave))
}

/// Reads the report of a machine to its end. That there is none is a fault: nothing was tried.
fn finish(
    mut child: Child,
    from: Option<impl Read>,
    only: &[&str],
) -> Result<Vec<Checked>, Failure> {
    let stderr = child.stderr.take();
    let complaints = std::thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = stderr.read_to_end(&mut said);
        }
        said
    });
    let mut checks = Vec::new();
    let mut other = String::new();
    for line in from
        .into_iter()
        .flat_map(|from| BufReader::new(from).lines())
    {
        // A terminal ends with an error where it has no other side any more.
        let Ok(line) = line else { break };
        match Checked::read(&line) {
            Some(checked) => checks.push(checked),
            None => other = line,
        }
    }
    let status = child.wait().map_err(fault("the machine"))?;
    let said = complaints.join().unwrap_or_default();
    // 0 and 1 are the checks' own; everything else is the run's.
    match status.code() {
        Some(0 | 1) if !checks.is_empty() => Ok(checks),
        _ => {
            let why = match said.is_empty() {
                true => Text::from(other.as_str()).to_string(),
                false => last(&said),
            };
            Err(Failure::fault(format!(
                "a machine with the checks {} ended with {status}: {why}",
                only.join(", ")
            )))
        }
    }
}

/// The end of what a program complained about.
fn last(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let tail = lines
        .get(lines.len().saturating_sub(4)..)
        .unwrap_or_default();
    match tail.is_empty() {
        true => "it said nothing".to_owned(),
        false => tail
            .iter()
            .map(|line| Text::from(*line).to_string())
            .collect::<Vec<_>>()
            .join("\n  "),
    }
}
