//! Files with commands that a program of the host runs when the user enters a folder, commits, or starts an agent: what
//! they call, and what else they name.

use super::on_path::on_path;
use super::scripts::{Kind, Script, Text, only_watches, words};
use super::settings::commands_of;
use super::{Configurations, Followed, Reading, read};
use std::collections::BTreeSet;
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

/// The folder whose file of commands this is, if it is one.
pub(crate) fn folder_of_commands(file: &Path) -> Option<&Path> {
    let last = file.file_name()?.as_encoded_bytes();
    let mut all = CALLING.iter().chain(&NAMING);
    // Every entry of a walk is asked about, and comparing paths takes long.
    let found = all.find(|name| name.as_bytes().ends_with(last) && file.ends_with(name))?;
    file.ancestors().nth(Path::new(found).components().count())
}

/// What the files of commands in a folder call in `folders`: it is obeyed as they are.
pub(crate) fn called_at(folder: &Path, folders: &[PathBuf], home: &Path) -> Vec<Followed> {
    let read = Configurations::default();
    let mut reading = Reading::new(folder, folders, home, &read);
    for name in CALLING {
        reading.commands(&folder.join(name), name);
    }
    reading.follow();
    reading.found.into_iter().collect()
}

/// What such a file of a folder names besides: files, and folders in which a shell looks for programs because of it. What
/// is not there yet could be made; of a file whose scripts are programs for that alone it is all that is named besides.
pub(crate) fn named_at(file: &Path, folder: &Path, home: &Path) -> Vec<PathBuf> {
    let names = NAMING.iter().any(|name| file.ends_with(name));
    let shells = [".envrc", "mise.toml", ".mise.toml"];
    let of_shell = shells.iter().any(|name| file.ends_with(name));
    let text = read(file).unwrap_or_default();
    if !names && !of_shell {
        let mut found = named_in(&commands_of(file, text), folder, home);
        found.retain(|path| path.symlink_metadata().is_err());
        return found.into_iter().collect();
    }
    let mut found = named_in(&text, folder, home);
    if of_shell {
        found.extend(on_path(&text, folder));
    }
    found.into_iter().collect()
}

/// What a text of a folder names.
fn named_in(text: &[u8], folder: &Path, home: &Path) -> BTreeSet<PathBuf> {
    let everywhere = [PathBuf::from("/")];
    let configurations = Configurations::default();
    let mut reading = Reading::new(folder, &everywhere, home, &configurations);
    let lines = text.split(|byte| *byte == b'\n');
    let obeyed = lines.filter(|line| !words(line).next().is_some_and(only_watches));
    let text = obeyed.collect::<Vec<_>>().join(&b'\n');
    reading.text(&text, &Text::of(Kind::Names, ""));
    reading.follow();
    reading.found.into_iter().map(|named| named.path).collect()
}

impl Reading<'_> {
    /// The programs that a file of commands names, and those which they call; `name` is the file's for a person.
    fn commands(&mut self, file: &Path, name: &str) {
        let by = format!("commands in {name}");
        if file.extension().is_none() {
            return self
                .waiting
                .push_back(Script::new(file.to_path_buf(), &by, 0));
        }
        let text = commands_of(file, read(file).unwrap_or_default());
        self.modules(&flat(&text), &by);
        self.text(&text, &Text::of(Kind::Data, &by));
    }
}

/// A text of JSON, TOML or YAML with spaces in the place of what stands around its words.
pub(super) fn flat(text: &[u8]) -> Vec<u8> {
    let mut flat = Vec::with_capacity(text.len());
    let mut bytes = text.iter().peekable();
    while let Some(byte) = bytes.next() {
        match (byte, bytes.peek()) {
            (b'\\', Some(b'/')) => {}
            (b'\\', Some(b'n' | b't' | b'r')) => {
                bytes.next();
                flat.push(b' ');
            }
            (b',' | b'[' | b']' | b':' | b'\\', _) => flat.push(b' '),
            (byte, _) => flat.push(*byte),
        }
    }
    flat
}

/// The same with each value on a line of its own, as commands stand in a script.
pub(super) fn lines(text: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(text.len());
    let mut bytes = text.iter().peekable();
    while let Some(byte) = bytes.next() {
        match (byte, bytes.peek()) {
            (b'\\', Some(b'/' | b'"')) => {}
            (b'\\', Some(b'n')) => {
                bytes.next();
                lines.push(b'\n');
            }
            (b':' | b',' | b'[', Some(b'"' | b'\'' | b' ' | b'\n')) => lines.push(b'\n'),
            (b'=', Some(b' ')) if lines.ends_with(b" ") => lines.push(b'\n'),
            (byte, _) => lines.push(*byte),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn of_what_is_called_nothing_is_left_out_in_silence() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let tops = std::slice::from_ref(&top);
        let put = |name: &str, text: &str| fs::write(top.join(name), text).unwrap();
        let called = |script: &str| {
            put(".envrc", script);
            let found = called_at(&top, tops, Path::new("/nowhere"));
            let found = found.into_iter().map(|led| {
                let inside = led.path.strip_prefix(&top).unwrap();
                (inside.to_str().unwrap().to_owned(), led.closed)
            });
            found.collect::<Vec<_>>()
        };
        fs::create_dir(top.join("d")).unwrap();
        let names = |count: usize| (0..count).map(|number| format!("{number}.sh"));
        for name in names(600) {
            put(&format!("d/{name}"), "");
        }
        put("z.sh", "");
        let all: String = names(300).map(|name| format!(". {name}\n")).collect();
        let found = called(&format!("{all}. ./z.sh # d\n"));
        assert!(found.contains(&("d".to_owned(), true)));
        assert!(found.contains(&("z.sh".to_owned(), false)));
        let all: String = names(600).map(|name| format!(". d/{name}\n")).collect();
        assert!(called(&all).contains(&(String::new(), true)));
    }
}
