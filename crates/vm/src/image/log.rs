//! Running a tool. What it says goes to a log that stays when the build fails; of it, a failure
//! shows the end.

use super::cache::fault;
use super::progress::{Progress, Tell};
use bailiwick_event::{Failure, Text};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// How many lines of the log a failure shows.
const SHOWN: usize = 15;
/// Some programs are not on an ordinary user's search path.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The log of one build.
pub(super) struct Log {
    path: PathBuf,
    file: File,
}

/// How the progress of a tool is guessed from its lines.
pub(super) struct Lines {
    /// What the lines begin with that count.
    pub(super) prefixes: &'static [&'static str],
    /// How many there are, about.
    pub(super) expected: u32,
}

impl Log {
    pub(super) fn create(path: PathBuf) -> Result<Self, Failure> {
        // Somebody may still read the last one.
        let _ = fs::remove_file(&path);
        let file = File::create(&path).map_err(|e| fault("made", &path, &e))?;
        Ok(Self { path, file })
    }

    /// Runs a tool to its end; `what` is what it does. It reads nothing.
    pub(super) fn run(
        &mut self,
        what: &str,
        mut command: Command,
        lines: &Lines,
        tell: Tell<'_>,
    ) -> Result<(), Failure> {
        let program = Text::from(command.get_program().to_owned());
        let cannot = |e: std::io::Error| Failure::fault(format!("{what}: {program}: {e}"));
        let (reader, writer) = std::io::pipe().map_err(cannot)?;
        let other = writer.try_clone().map_err(cannot)?;
        command.stdin(Stdio::null()).stdout(writer).stderr(other);
        let _ = writeln!(self.file, "== {what}");
        let mut child = command.spawn().map_err(cannot)?;
        // Our ends of the pipe, which would keep it open.
        drop(command);
        let mut last = VecDeque::new();
        let mut counted = 0u32;
        for line in BufReader::new(reader).split(b'\n') {
            let Ok(line) = line else { break };
            let line = String::from_utf8_lossy(&line).into_owned();
            let _ = writeln!(self.file, "{line}");
            let bare = line.trim_start();
            if lines.prefixes.iter().any(|prefix| bare.starts_with(prefix)) {
                counted += 1;
                tell(Progress::Done(fraction(counted, lines.expected)));
            }
            if last.len() == SHOWN {
                last.pop_front();
            }
            last.push_back(line);
        }
        let status = child.wait().map_err(cannot)?;
        if status.success() {
            return Ok(());
        }
        let mut end = String::new();
        for line in last {
            end.push_str(&format!("\n  | {}", Text::from(line)));
        }
        Err(Failure::fault(format!(
            "{what}: {program} failed ({status}); its last lines:{end}\n  all of them: {}",
            Text::from(self.path.as_os_str())
        )))
    }
}

/// It is a guess: all of it is done when the tool has ended.
fn fraction(counted: u32, expected: u32) -> f32 {
    let whole = expected.max(counted + 1);
    f32::from(u16::try_from(counted).unwrap_or(u16::MAX))
        / f32::from(u16::try_from(whole).unwrap_or(u16::MAX))
}

/// What a tool prints, in one line without its end; the first of its lines.
pub(super) fn first_line(mut command: Command) -> Result<String, Failure> {
    let program = Text::from(command.get_program().to_owned());
    let output = command
        .env("LC_ALL", "C")
        .env("PATH", PATH)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Failure::fault(format!("{program}: {e}")))?;
    // Some print their version where others complain.
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    Ok(said.lines().next().unwrap_or_default().trim().to_owned())
}
