//! The programs that a script calls, or a file of commands names: as far as they lie where a sandbox may write, they
//! are obeyed as the file itself is.

use super::{Reading, SCRIPTS, read};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Modules of Python's own that nearly every program imports.
const SHADOWED: [&str; 26] = [
    "argparse",
    "ast",
    "asyncio",
    "base64",
    "collections",
    "configparser",
    "contextlib",
    "copy",
    "dataclasses",
    "enum",
    "fnmatch",
    "functools",
    "hashlib",
    "importlib",
    "inspect",
    "io",
    "json",
    "logging",
    "re",
    "shutil",
    "socket",
    "string",
    "subprocess",
    "tempfile",
    "traceback",
    "typing",
];

impl Reading<'_> {
    /// The programs in folders that may be written which a script calls, and those which they call.
    pub(super) fn script(&mut self, file: &Path, hook: &str, depth: usize) {
        self.scripts += 1;
        let Some(text) = read(file).filter(|_| self.scripts <= SCRIPTS && depth < 4) else {
            return;
        };
        self.modules(&text, hook);
        // A script may go to a folder first, or keep its name in a variable.
        let mut tops = self.tops(&text);
        if let Some(own) = file
            .parent()
            .filter(|own| !tops.iter().any(|top| top == own))
        {
            tops.insert(1, own.to_path_buf());
        }
        self.patterns(&text, &tops, hook);
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
                    // A name alone may be one of a variable.
                    let path = word.contains(&b'/') || runs && word.contains(&b'.');
                    if absent && is_command && path {
                        self.add(&program, hook);
                    }
                }
                let last = word
                    .iter()
                    .position(|&b| b == b'/')
                    .map_or(word, |at| &word[at + 1..]);
                // Elsewhere a file is called by a path, or by what looks like a file's name.
                let path = runs || word.iter().any(|byte| b"/.".contains(byte));
                let from = if path {
                    &tops[..]
                } else {
                    &tops[..2.min(tops.len())]
                };
                let places = self.places(word, from);
                for program in places.into_iter().chain(self.places(last, from)) {
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

    /// The files in which Python finds a module that a command runs by its name (`-m`): it looks in the folder where it
    /// starts before it looks among its own.
    pub(super) fn modules(&mut self, text: &[u8], by: &str) {
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"'\";|&()".contains(byte);
        let mut words = text.split(ends).filter(|word| !word.is_empty());
        let mut python = false;
        while let Some(word) = words.next() {
            let lower = word.to_ascii_lowercase();
            if lower.windows(6).any(|part| part == b"python") {
                python = true;
                continue;
            }
            let module = match word.strip_prefix(b"-m").filter(|_| python) {
                Some(b"") => words.next(),
                module => module,
            };
            python &= word.starts_with(b"-") && module.is_none();
            let named = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.".contains(byte);
            if let Some(module) = module.filter(|module| module.iter().all(named)) {
                self.module(&String::from_utf8_lossy(module), by);
            }
        }
    }

    fn module(&mut self, name: &str, by: &str) {
        let plain = self.top.join(name.replace('.', "/"));
        let mut files = vec![plain.with_extension("py")];
        files.extend(["__main__.py", "__init__.py"].map(|file| plain.join(file)));
        let above = plain.ancestors().skip(1);
        let above = above.take_while(|folder| *folder != self.top);
        files.extend(above.map(|folder| folder.join("__init__.py")));
        // What a module of the system's imports is looked for there as well.
        let shadows = SHADOWED.iter().flat_map(|name| {
            let at = self.top.join(name);
            [at.with_extension("py"), at.join("__init__.py")]
        });
        files.extend(shadows.filter(|file| !file.exists()));
        for file in files {
            self.add(&file, by);
        }
    }

    /// Folders of which a script takes all scripts by a pattern.
    fn patterns(&mut self, text: &[u8], tops: &[PathBuf], by: &str) {
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"'\";|&()`".contains(byte);
        for word in text.split(ends).take(4000) {
            let wild = word.iter().position(|byte| b"*?[{".contains(byte));
            let shells: [&[u8]; 4] = [b".sh", b".bash", b".zsh", b".fish"];
            let scripts = shells.iter().any(|end| word.ends_with(end));
            let slash = wild.filter(|_| scripts);
            let slash = slash.and_then(|at| word[..at].iter().rposition(|byte| *byte == b'/'));
            for folder in slash.map_or_else(Vec::new, |at| self.places(&word[..at], tops)) {
                if folder.is_dir() && folder != self.top {
                    self.add(&folder, by);
                }
            }
        }
    }

    /// Where a word leads that may be a path from one of `tops` on.
    pub(super) fn places(&self, word: &[u8], tops: &[PathBuf]) -> Vec<PathBuf> {
        let plain = OsStr::from_bytes(word.strip_prefix(b"/").unwrap_or(word));
        let below = tops.iter().map(|top| top.join(plain));
        let whole = Some(self.path(word)).filter(|path| path.is_absolute());
        below.chain(whole).collect()
    }
}

/// Whether direnv does nothing with the files that a command is given but look whether they have changed.
pub(super) fn only_watches(command: &[u8]) -> bool {
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
pub(super) fn interprets(command: &[u8]) -> bool {
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
pub(super) fn is_script(program: &Path) -> bool {
    let of = |end: &OsStr| {
        ["sh", "bash", "py", "js", "mjs", "cjs", "ts", "rb", "pl"]
            .map(OsStr::new)
            .contains(&end)
    };
    program.extension().is_some_and(of)
}

pub(super) fn is_executable(program: &Path) -> bool {
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
