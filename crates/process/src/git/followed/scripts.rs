//! The programs that a script calls, or a file of commands names: as far as they lie where a sandbox may write, they
//! are obeyed as the file itself is.

use super::super::leads::plain;
use super::commands::{flat, lines};
use super::lists::{Listed, listed};
use super::{Reading, read};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// So many scripts are read, of so many that call each other.
const SCRIPTS: usize = 512;
pub(super) const DEPTH: usize = 4;
/// So often something is looked for; with more, all that may be written is closed, as it is with more scripts.
const LOOKS: usize = 500_000;
/// So many bytes of a script take as long.
const A_LOOK: usize = 64;
/// In so many folders that a text names it is looked for what it names besides; further ones are closed.
const FOLDERS: usize = 1_000;
/// So much is found there of one text; the folders in which there is more are closed.
const PUT_TOGETHER: usize = 256;

/// A file of which is read what it calls.
pub(super) struct Script {
    file: PathBuf,
    by: String,
    /// So many files call each other before it is.
    depth: usize,
}

/// What a text is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Of a shell, or of another interpreter.
    Script,
    /// A file of commands in JSON, TOML or YAML.
    Data,
    /// The value of a variable of git's.
    Value,
    /// It names files besides, which are not read.
    Names,
}

/// Where a text is from.
#[derive(Clone)]
pub(super) struct Text {
    kind: Kind,
    file: PathBuf,
    by: String,
    pub(super) depth: usize,
}

/// A word of a text that may be the path of what is called.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Word {
    path: Vec<u8>,
    /// Whether it follows what runs a file.
    runs: bool,
    /// Whether it would be run if it were there.
    is_command: bool,
    /// Whether all that is in it may be.
    is_folder: bool,
}

/// What a text may call that it does not spell out: paths from folders on that it names elsewhere.
pub(super) struct Later {
    of: Text,
    words: Vec<Word>,
    folders: BTreeSet<PathBuf>,
    /// The folders that it goes to.
    gone_to: Vec<Vec<u8>>,
    /// Where its paths were looked for already.
    bases: Vec<PathBuf>,
}

impl Script {
    pub(super) fn new(file: PathBuf, by: &str, depth: usize) -> Self {
        let by = by.to_owned();
        Self { file, by, depth }
    }
}

impl Text {
    pub(super) fn of(kind: Kind, by: &str) -> Self {
        let (file, by) = (PathBuf::new(), by.to_owned());
        Self {
            kind,
            file,
            by,
            depth: 0,
        }
    }
}

impl Word {
    /// Whether it looks like the path of a file.
    fn is_path(&self) -> bool {
        self.runs || self.is_folder || self.path.iter().any(|byte| b"/.".contains(byte))
    }

    /// The name with which it begins; none where it begins elsewhere.
    fn first(&self) -> Option<&OsStr> {
        let parts = Path::new(OsStr::from_bytes(&self.path)).components();
        let mut parts =
            parts.skip_while(|part| matches!(part, Component::RootDir | Component::CurDir));
        match parts.next()? {
            Component::Normal(name) => Some(name),
            _ => None,
        }
    }
}

impl Reading<'_> {
    /// Reads the scripts that wait, and adds what they call: first all that the texts spell out, then what is put
    /// together of what they name, of which a run could make much.
    pub(super) fn follow(&mut self) {
        loop {
            if self.closed {
                return;
            } else if let Some(script) = self.waiting.pop_front() {
                self.script(script);
            } else if let Some(later) = self.later.pop_front() {
                self.put_together(&later);
            } else {
                return;
            }
        }
    }

    fn script(&mut self, Script { file, by, depth }: Script) {
        let Some(text) = read(&file).filter(|text| depth < DEPTH && !is_binary(text)) else {
            return;
        };
        self.scripts += 1;
        self.looks += text.len() / A_LOOK;
        if self.scripts > SCRIPTS {
            return self.close_all(&by);
        }
        self.modules(&text, &by);
        let kind = Kind::Script;
        self.text(
            &text,
            &Text {
                kind,
                file,
                by,
                depth,
            },
        );
    }

    /// Adds what a text calls, as far as it spells it out.
    pub(super) fn text(&mut self, text: &[u8], of: &Text) {
        let flat = match of.kind {
            Kind::Data | Kind::Names => flat(text),
            Kind::Script | Kind::Value => text.to_vec(),
        };
        let words = self.called(text, &flat, of);
        // A script may go to a folder first.
        let mut bases = vec![self.top.to_path_buf()];
        let own = of.file.parent().map(Path::to_path_buf);
        bases.extend(own.filter(|own| of.kind == Kind::Script && own != self.top));
        let mut near = bases.len();
        let mut gone_to = gone_to(&flat);
        if of.kind == Kind::Names {
            gone_to.extend(settled_in(&flat));
        }
        self.go(&gone_to, &mut bases, of);
        if matches!(of.kind, Kind::Value | Kind::Names) {
            near = bases.len();
        }
        for word in &words {
            for (number, base) in bases.iter().enumerate() {
                if number < near || word.is_path() {
                    self.look(word, base, number < near, of);
                }
            }
            let whole = self.path(&word.path);
            if whole.is_absolute() {
                self.look(word, Path::new("/"), true, of);
            }
        }
        // A path may be put together of parts.
        let mut folders = BTreeSet::new();
        for word in self::words(&flat).collect::<HashSet<_>>() {
            let at = plain(&self.top.join(self.path(word)));
            let may_be = self.is_inside(&at) && self.may_look(&of.by);
            if may_be && at.is_dir() && !bases.contains(&at) {
                folders.insert(at);
            }
        }
        self.later.push_back(Later {
            of: of.clone(),
            words: words.into_iter().filter(Word::is_path).collect(),
            folders,
            gone_to,
            bases,
        });
    }

    /// Adds what a text calls in folders that it names, or closes them where that is too much.
    fn put_together(&mut self, later: &Later) {
        let by = &later.of.by;
        for folder in later.folders.iter().skip(FOLDERS) {
            self.close(folder, by);
        }
        let mut folders: Vec<PathBuf> = later.folders.iter().take(FOLDERS).cloned().collect();
        self.go(&later.gone_to, &mut folders, &later.of);
        folders.retain(|folder| !later.bases.contains(folder));
        let mut named: HashMap<&OsStr, Vec<&Word>> = HashMap::new();
        let mut elsewhere = Vec::new();
        for word in &later.words {
            match word.first() {
                Some(name) => named.entry(name).or_default().push(word),
                None => elsewhere.push(word),
            }
        }
        let mut found = 0;
        for folder in &folders {
            let there = fs::read_dir(folder).into_iter().flatten().flatten();
            let there: Vec<_> = there.map(|entry| entry.file_name()).collect();
            let there = there.iter().filter_map(|name| named.get(name.as_os_str()));
            for word in there.flatten().chain(&elsewhere) {
                if found >= PUT_TOGETHER {
                    self.close(folder, by);
                    break;
                }
                found += usize::from(self.look(word, folder, false, &later.of));
            }
        }
    }

    /// Adds what a word means from a folder on, if it is called. Whether it was not known.
    fn look(&mut self, word: &Word, base: &Path, near: bool, of: &Text) -> bool {
        if !self.may_look(&of.by) {
            return false;
        }
        let path = word.path.strip_prefix(b"/").unwrap_or(&word.path);
        let at = match base.parent() {
            Some(_) => base.join(OsStr::from_bytes(path)),
            None => self.path(&word.path),
        };
        let Ok(meta) = fs::metadata(&at) else {
            // What is not there yet could be made.
            return match of.kind {
                Kind::Names => near && word.is_path() && self.add_absent(&at, word, base),
                _ => near && word.is_command && self.add(&at, &of.by),
            };
        };
        if meta.is_dir() {
            // An interpreter takes a folder for the program in it.
            let is_meant = word.is_folder || of.kind == Kind::Names && word.runs;
            return is_meant && plain(&at) != self.top && self.add(&at, &of.by);
        }
        let called = match of.kind {
            _ if word.runs || meta.mode() & 0o111 != 0 => true,
            Kind::Script => false,
            Kind::Data => is_script(&at),
            Kind::Value | Kind::Names => true,
        };
        let called = called && meta.is_file() && at != of.file;
        let new = called && self.add(&at, &of.by);
        if new && of.kind != Kind::Names {
            let script = Script::new(at, &of.by, of.depth + 1);
            self.waiting.push_back(script);
        }
        new
    }

    /// Adds what an interpreter would take a name for that is not there: the file, or one with an ending that it adds; with
    /// dots, a module of Python.
    fn add_absent(&mut self, at: &Path, word: &Word, base: &Path) -> bool {
        let mut new = self.add(at, "");
        if word.runs && at.extension().is_none() {
            for end in ["js", "mjs", "cjs", "py"] {
                new |= self.add(&at.with_extension(end), "");
            }
        }
        if !word.path.contains(&b'/') && word.path.contains(&b'.') {
            let path: Vec<u8> = word
                .path
                .split(|byte| *byte == b'.')
                .collect::<Vec<_>>()
                .join(&b'/');
            let module = base.join(OsStr::from_bytes(&path));
            new |= self.add(&module.with_extension("py"), "") | self.add(&module, "");
        }
        new
    }

    /// Whether something more may be looked for; where it may not, all that may be written is closed.
    fn may_look(&mut self, by: &str) -> bool {
        self.looks += 1;
        if self.looks > LOOKS {
            self.close_all(by);
        }
        !self.closed
    }

    /// Adds the folders that commands go to, one after the other.
    fn go(&mut self, to: &[Vec<u8>], from: &mut Vec<PathBuf>, of: &Text) {
        let by = &of.by;
        // What is only named may be made later, with all that lies in it.
        let may_be = |at: &Path| at.is_dir() || of.kind == Kind::Names && !at.exists();
        for word in to {
            let known = from.len();
            for number in 0..known {
                let at = plain(&from[number].join(OsStr::from_bytes(word)));
                if !self.may_look(by) {
                    return;
                }
                if !self.is_inside(&at) || !may_be(&at) || from.contains(&at) {
                    continue;
                }
                match from.len() < FOLDERS {
                    true => from.push(at),
                    false => self.close(&at, by),
                }
            }
        }
    }

    /// The words of a text that may be called, each once.
    fn called(&self, text: &[u8], flat: &[u8], of: &Text) -> HashSet<Word> {
        let mut found = HashSet::new();
        let is_script = of.kind == Kind::Script;
        let ends = |byte: &u8| is_script && b"\n;&|(){}`".contains(byte);
        for command in flat.split(ends) {
            if is_script && words(command).next().is_some_and(only_watches) {
                continue;
            }
            let mut before: &[u8] = b"";
            for word in words(command) {
                // Arguments of a program stand apart from it in files of settings.
                let runs = interprets(before) || of.kind == Kind::Names && before == b"args";
                // A name alone may be one of a variable.
                let path = word.contains(&b'/') || runs && word.contains(&b'.');
                let pattern = word.iter().any(|byte| b"*?:".contains(byte));
                let is_command = match of.kind {
                    _ if pattern => false,
                    Kind::Script => path && (runs || before.is_empty() || precedes(before)),
                    Kind::Value => word.contains(&b'/'),
                    Kind::Data | Kind::Names => false,
                };
                let mut add = |path: &[u8], is_command, is_folder| {
                    let path = path.to_vec();
                    found.insert(Word {
                        path,
                        runs,
                        is_command,
                        is_folder,
                    });
                };
                add(word, is_command, before == b"run-parts");
                // A variable may stand for the first part.
                if let Some(slash) = word.iter().position(|byte| *byte == b'/') {
                    add(&word[slash + 1..], false, false);
                }
                before = word;
            }
        }
        let listed = match of.kind {
            Kind::Script if interpreted_otherwise(&of.file) => Listed::default(),
            Kind::Script | Kind::Value => listed(text, false),
            Kind::Data => listed(&lines(text), true),
            Kind::Names => Listed::default(),
        };
        let mut add = |path, is_command, is_folder: bool| {
            let runs = !is_folder;
            found.insert(Word {
                path,
                runs,
                is_command,
                is_folder,
            });
        };
        for folder in listed.folders {
            add(folder, true, true);
        }
        for file in listed.files {
            let path = file.contains(&b'/');
            add(file, path, false);
        }
        if is_script {
            for folder in patterns(text) {
                add(folder.to_vec(), false, true);
            }
        }
        found
    }
}

/// Folders of which a script takes all scripts by a pattern.
fn patterns(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"'\";|&()`".contains(byte);
    text.split(ends).filter_map(|word| {
        let wild = word.iter().position(|byte| b"*?[{".contains(byte))?;
        let shells: [&[u8]; 4] = [b".sh", b".bash", b".zsh", b".fish"];
        let slash = word[..wild].iter().rposition(|byte| *byte == b'/')?;
        let scripts = shells.iter().any(|end| word.ends_with(end));
        scripts.then(|| &word[..slash])
    })
}

/// Where the commands of a text go to.
fn gone_to(text: &[u8]) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    for command in text.split(|byte| b"\n;&|".contains(byte)) {
        let mut words = words(command).skip_while(|word| !matches!(*word, b"cd" | b"pushd"));
        words.next();
        for word in words {
            let behind = word.iter().position(|byte| *byte == b'/');
            let behind = behind.map(|at| &word[at + 1..]);
            for word in behind.into_iter().chain([word]) {
                let word = word.strip_prefix(b"/").unwrap_or(word);
                if !word.is_empty() && found.last().is_none_or(|last| last != word) {
                    found.push(word.to_vec());
                }
            }
        }
    }
    found
}

/// The folders in which a file of settings has its programs begin (`cwd`, `--directory`).
fn settled_in(flat: &[u8]) -> Vec<Vec<u8>> {
    const BEFORE: [&[u8]; 7] = [
        b"cwd",
        b"--cwd",
        b"--directory",
        b"--project",
        b"--prefix",
        b"--working-directory",
        b"-C",
    ];
    let words = flat.split(|byte| byte.is_ascii_whitespace() || b"\"'=".contains(byte));
    let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
    let pairs = words.windows(2).filter(|pair| BEFORE.contains(&pair[0]));
    pairs.map(|pair| pair[1].to_vec()).collect()
}

/// Whether no shell runs a text, because its first line is none.
fn is_binary(text: &[u8]) -> bool {
    let line = text.split(|byte| *byte == b'\n').next();
    line.is_some_and(|line| line.contains(&0))
}

/// Whether direnv does nothing with the files that a command is given but look whether they have changed.
pub(super) fn only_watches(command: &[u8]) -> bool {
    matches!(command, b"watch_file" | b"watch_dir")
}

/// Whether a command follows a word of the shell's.
pub(super) fn precedes(word: &[u8]) -> bool {
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
fn is_script(program: &Path) -> bool {
    let of = |end: &OsStr| {
        ["sh", "bash", "py", "js", "mjs", "cjs", "ts", "rb", "pl"]
            .map(OsStr::new)
            .contains(&end)
    };
    program.extension().is_some_and(of)
}

/// Whether the name of a script says that no shell runs it.
fn interpreted_otherwise(script: &Path) -> bool {
    let shell = script
        .extension()
        .is_some_and(|end| end == "sh" || end == "bash");
    is_script(script) && !shell
}

/// The words of a command, as far as a shell would take them for words.
pub(super) fn words(command: &[u8]) -> impl Iterator<Item = &[u8]> {
    command
        .split(|b| b.is_ascii_whitespace() || b"'\"`;|&()<>$=!".contains(b))
        .filter(|word| !word.is_empty() && !word.starts_with(b"-"))
}
