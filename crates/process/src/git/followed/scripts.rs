//! The programs that a script calls, or a file of commands names: as far as they lie where a sandbox may write, they
//! are obeyed as the file itself is.

use super::{Reading, SCRIPTS, read};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

impl Reading<'_> {
    /// The programs in folders that may be written which a script calls, and those which they call.
    pub(super) fn script(&mut self, file: &Path, hook: &str, depth: usize) {
        self.scripts += 1;
        let Some(text) = read(file).filter(|_| self.scripts <= SCRIPTS && depth < 4) else {
            return;
        };
        // A script may go to a folder first, or keep its name in a variable.
        let folders = words(&text)
            .map(|word| self.top.join(self.path(word)))
            .filter(|at| at.is_dir() && at != self.top);
        let mut tops: Vec<PathBuf> = std::iter::once(self.top.to_path_buf())
            .chain(file.parent().map(Path::to_path_buf))
            .chain(folders)
            .take(8)
            .collect();
        tops.dedup();
        let ends = |byte: &u8| b"\n;&|(){}`".contains(byte);
        for command in text.split(ends).take(4000) {
            let mut before: &[u8] = b"";
            if words(command).next().is_some_and(only_watches) {
                continue;
            }
            for word in words(command) {
                let runs = interprets(before);
                // What is not there yet could be made.
                let is_command = runs || before.is_empty() || precedes(before);
                for program in self.places(word, &tops[..2.min(tops.len())]) {
                    let absent = program.symlink_metadata().is_err();
                    if absent && is_command && (runs || word.contains(&b'/')) {
                        self.add(&program, hook);
                    }
                }
                let last = word
                    .iter()
                    .position(|&b| b == b'/')
                    .map_or(word, |at| &word[at + 1..]);
                let places = self.places(word, &tops);
                for program in places.into_iter().chain(self.places(last, &tops)) {
                    let called = program.is_file() && (runs || is_executable(&program));
                    if program != file && called && self.add(&program, hook) {
                        self.script(&program, hook, depth + 1);
                    }
                }
                if before == b"run-parts" {
                    self.add(&self.top.join(self.path(word)), hook);
                }
                before = word;
            }
        }
    }

    /// The programs that a file of commands names, and those which they call; `name` is the file's for a person.
    pub(super) fn commands(&mut self, file: &Path, name: &str) {
        let by = format!("commands in {name}");
        if file.extension().is_none() {
            return self.script(file, &by, 0);
        }
        let mut text = read(file).unwrap_or_default();
        for byte in &mut text {
            if b",[]:\\".contains(byte) {
                *byte = b' ';
            }
        }
        for word in words(&text).take(4000) {
            // A variable may stand for the folder.
            let behind = word.iter().position(|byte| *byte == b'/');
            let behind = behind.map(|at| &word[at + 1..]);
            for word in std::iter::once(word).chain(behind) {
                for program in self.places(word, &[self.top.to_path_buf()]) {
                    let called = is_executable(&program) || is_script(&program);
                    if program.is_file() && called && self.add(&program, &by) {
                        self.script(&program, &by, 1);
                    }
                }
            }
        }
    }

    /// Where a word leads that may be a path from one of `tops` on.
    pub(super) fn places(&self, word: &[u8], tops: &[PathBuf]) -> Vec<PathBuf> {
        let plain = OsStr::from_bytes(word.strip_prefix(b"/").unwrap_or(word));
        let below = tops.iter().map(|top| top.join(plain));
        below.chain([self.path(word)]).collect()
    }
}

/// Whether direnv does nothing with the files that a command is given but look whether they have changed.
fn only_watches(command: &[u8]) -> bool {
    matches!(command, b"watch_file" | b"watch_dir")
}

/// Whether a command follows a word of the shell's.
fn precedes(word: &[u8]) -> bool {
    matches!(
        word,
        b"if"
            | b"then"
            | b"else"
            | b"elif"
            | b"while"
            | b"until"
            | b"do"
            | b"time"
            | b"env"
            | b"nice"
            | b"command"
    )
}

/// Whether a command runs the file that it is given.
fn interprets(command: &[u8]) -> bool {
    let name = command
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or(command);
    let digits = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let end = name
        .iter()
        .rposition(|byte| !digits(byte))
        .map_or(0, |at| at + 1);
    command == b"."
        || matches!(
            &name[..end],
            b"source"
                | b"source_env"
                | b"source_env_if_exists"
                | b"exec"
                | b"sh"
                | b"bash"
                | b"zsh"
                | b"dash"
                | b"python"
                | b"node"
                | b"ruby"
                | b"perl"
                | b"php"
                | b"deno"
                | b"bun"
                | b"tsx"
        )
}

/// Whether a file has the name of a program that an interpreter runs.
fn is_script(program: &Path) -> bool {
    let of = |end: &OsStr| {
        ["sh", "bash", "py", "js", "mjs", "cjs", "ts", "rb", "pl"]
            .map(OsStr::new)
            .contains(&end)
    };
    program.extension().is_some_and(of)
}

fn is_executable(program: &Path) -> bool {
    fs::metadata(program).is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
}

/// The words of a command, as far as a shell would take them for words.
pub(super) fn words(command: &[u8]) -> impl Iterator<Item = &[u8]> {
    command
        .split(|b| b.is_ascii_whitespace() || b"'\"`;|&()<>$=!".contains(b))
        .filter(|word| !word.is_empty() && !word.starts_with(b"-"))
}

/// The folders that lines of a script put where programs are looked for, from `folder` on.
pub(super) fn on_path(text: &[u8], folder: &Path) -> Vec<PathBuf> {
    let about = |line: &&[u8]| {
        line.windows(4)
            .any(|part| part.eq_ignore_ascii_case(b"path"))
    };
    let lines = text.split(|byte| *byte == b'\n').filter(about);
    let parts =
        lines.flat_map(|line| words(line).flat_map(|word| word.split(|byte| *byte == b':')));
    let at = |part: &[u8]| {
        let part = part.strip_prefix(b"PWD/").unwrap_or(part);
        super::super::leads::plain(&folder.join(OsStr::from_bytes(part)))
    };
    let parts = parts.filter(|part| !part.is_empty()).take(4000);
    let mut folders: Vec<PathBuf> = parts.map(at).filter(|at| at.is_dir()).collect();
    folders.sort();
    folders.dedup();
    folders
}
