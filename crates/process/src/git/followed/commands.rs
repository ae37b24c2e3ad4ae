//! Files with commands that a program of the host runs when the user enters a folder, commits, or starts an agent: what
//! they call, and what else they name.

use super::scripts::{interprets, is_executable, is_script, on_path, only_watches, words};
use super::{Followed, Reading, read};
use std::path::{Path, PathBuf};

/// Files whose scripts are programs for that alone.
const CALLING: [&str; 13] = [
    ".envrc",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".cursor/hooks.json",
    ".gemini/settings.json",
    ".codex/hooks.json",
    ".windsurf/hooks.json",
    ".factory/hooks.json",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook.yml",
    "mise.toml",
    ".mise.toml",
];
/// Files that name what people work on as well: servers of agents, tasks, what an editor reads.
const NAMING: [&str; 14] = [
    ".mcp.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".vscode/tasks.json",
    ".devcontainer/devcontainer.json",
    ".zed/settings.json",
    ".codex/config.toml",
    "opencode.json",
    "opencode.jsonc",
    ".overcommit.yml",
    ".exrc",
    ".nvim.lua",
    ".vimrc",
    ".gdbinit",
];
/// So many words of a file are looked at.
const WORDS: usize = 4000;
/// So many folders that a text names are looked at.
const FOLDERS: usize = 64;

/// The folder whose file of commands this is, if it is one.
pub(crate) fn folder_of_commands(file: &Path) -> Option<&Path> {
    let mut all = CALLING.iter().chain(&NAMING);
    let found = all.find(|name| file.ends_with(name))?;
    file.ancestors().nth(Path::new(found).components().count())
}

/// What the files of commands in a folder call in `folders`: it is obeyed as they are.
pub(crate) fn called_at(folder: &Path, folders: &[PathBuf], home: &Path) -> Vec<Followed> {
    let mut reading = Reading::new(folder, folders, home);
    for name in CALLING {
        reading.commands(&folder.join(name), name);
    }
    reading.found.into_iter().collect()
}

/// What such a file of a folder names besides, as far as it is there: files, and folders in which a shell looks for
/// programs because of it.
pub(crate) fn named_at(file: &Path, folder: &Path, home: &Path) -> Vec<PathBuf> {
    let names = NAMING.iter().any(|name| file.ends_with(name));
    let shells = [".envrc", "mise.toml", ".mise.toml"];
    let of_shell = shells.iter().any(|name| file.ends_with(name));
    let text = read(file).filter(|_| names || of_shell).unwrap_or_default();
    let mut found = match of_shell {
        true => on_path(&text, folder),
        false => Vec::new(),
    };
    let reading = Reading::new(folder, &[], home);
    let lines = text.split(|byte| *byte == b'\n');
    let obeyed = lines.filter(|line| !words(line).next().is_some_and(only_watches));
    let text = flat(&obeyed.collect::<Vec<_>>().join(&b'\n'));
    let tops = reading.tops(&text);
    for word in words(&text).take(WORDS) {
        found.extend(
            reading
                .named(word, &tops)
                .into_iter()
                .filter(|at| at.is_file()),
        );
    }
    found.sort();
    found.dedup();
    found
}

impl Reading<'_> {
    /// The programs that a file of commands names, and those which they call; `name` is the file's for a person.
    fn commands(&mut self, file: &Path, name: &str) {
        let by = format!("commands in {name}");
        if file.extension().is_none() {
            return self.script(file, &by, 0);
        }
        let text = flat(&read(file).unwrap_or_default());
        self.modules(&text, &by);
        let tops = self.tops(&text);
        let mut before: &[u8] = b"";
        for word in words(&text).take(WORDS) {
            let runs = interprets(before);
            for program in self.named(word, &tops) {
                let called = runs || is_executable(&program) || is_script(&program);
                if program.is_file() && called && self.add(&program, &by) {
                    self.script(&program, &by, 1);
                }
            }
            before = word;
        }
    }

    /// The folders that a relative path of a text may begin at: a command may go to one first.
    pub(super) fn tops(&self, text: &[u8]) -> Vec<PathBuf> {
        let folders = words(text)
            .take(WORDS)
            .map(|word| self.top.join(self.path(word)));
        let folders = folders.filter(|at| at.is_dir() && at != self.top);
        let mut tops = vec![self.top.to_path_buf()];
        for folder in folders {
            if tops.len() < FOLDERS && !tops.contains(&folder) {
                tops.push(folder);
            }
        }
        tops
    }

    /// Where a word may lead; a variable may stand for its first part.
    fn named(&self, word: &[u8], tops: &[PathBuf]) -> Vec<PathBuf> {
        let behind = word.iter().position(|byte| *byte == b'/');
        let behind = behind.map(|at| &word[at + 1..]);
        let words = std::iter::once(word).chain(behind);
        words.flat_map(|word| self.places(word, tops)).collect()
    }
}

/// A text of JSON, TOML or YAML with spaces in the place of what stands around its words.
fn flat(text: &[u8]) -> Vec<u8> {
    let mut flat = Vec::with_capacity(text.len());
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'\\' if text.get(at + 1) == Some(&b'/') => {}
            b',' | b'[' | b']' | b':' | b'\\' => flat.push(b' '),
            byte => flat.push(*byte),
        }
    }
    flat
}
