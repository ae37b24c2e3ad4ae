//! What a repository's configuration leads to at the start of a run: folders of hooks, files that it includes,
//! programs that it names. The user put them there, and git runs or obeys them; so a sandboxed program may
//! write them no more than the hooks themselves.

use super::config::{Key, Variables, variables};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A configuration is at most so long, in bytes, and includes so many others.
const LENGTH: u64 = 1 << 20;
const FILES: usize = 32;
/// So many paths are followed of one repository.
const PATHS: usize = 256;

/// A path that git obeys because a configuration names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Followed {
    pub(crate) path: PathBuf,
    /// The variable that names it.
    pub(crate) variable: String,
}

/// What the configurations of the repositories at these folders, and the user's own, lead to in them.
pub(crate) fn followed(folders: &[PathBuf], home: &Path) -> Vec<Followed> {
    let mut found = BTreeSet::new();
    for folder in folders {
        let mut reading = Reading {
            top: folder,
            folders,
            files: 0,
            found: &mut found,
        };
        for file in git_folders(folder) {
            reading.file(&file.join("config"), home);
            reading.file(&file.join("config.worktree"), home);
        }
        for file in [
            home.join(".gitconfig"),
            home.join(".config/git/config"),
            "/etc/gitconfig".into(),
        ] {
            reading.file(&file, home);
        }
    }
    found.into_iter().take(PATHS).collect()
}

/// The git folder of a working tree, and the one that it shares with others.
fn git_folders(tree: &Path) -> Vec<PathBuf> {
    let git = tree.join(".git");
    let line = |file: &Path, head: &str| {
        let text = read(file)?;
        let line = text.strip_suffix(b"\n").unwrap_or(&text);
        let target = line.strip_prefix(head.as_bytes())?;
        Some(file.parent()?.join(OsStr::from_bytes(target)))
    };
    let git = match git.is_file() {
        true => line(&git, "gitdir: ").unwrap_or(git),
        false if git.is_dir() => git,
        // Itself one, without a working tree.
        false => tree.to_path_buf(),
    };
    let common = line(&git.join("commondir"), "");
    std::iter::once(git).chain(common).collect()
}

/// What a file of configuration says, unless it is none or too long.
pub(super) fn read(file: &Path) -> Option<Vec<u8>> {
    let meta = fs::metadata(file).ok()?;
    (meta.is_file() && meta.len() <= LENGTH)
        .then(|| fs::read(file).ok())
        .flatten()
}

/// What is known while configurations are read.
struct Reading<'a> {
    /// The working tree that relative paths of programs and hooks begin at.
    top: &'a Path,
    folders: &'a [PathBuf],
    files: usize,
    found: &'a mut BTreeSet<Followed>,
}

impl Reading<'_> {
    fn file(&mut self, file: &Path, home: &Path) {
        self.files += 1;
        let Some(variables) = read(file)
            .filter(|_| self.files <= FILES)
            .and_then(|text| variables(&text).ok())
        else {
            return;
        };
        let variables: Variables = variables;
        for (key, values) in &variables {
            for value in values {
                self.value(key, value, file, home);
            }
        }
    }

    fn value(&mut self, key: &Key, value: &[u8], file: &Path, home: &Path) {
        let path = |value: &[u8]| match value.strip_prefix(b"~/") {
            Some(rest) => home.join(OsStr::from_bytes(rest)),
            None => PathBuf::from(OsStr::from_bytes(value)),
        };
        match (key.section.as_str(), key.name.as_str()) {
            ("include" | "includeif", "path") => {
                let included = file.parent().unwrap_or(self.top).join(path(value));
                self.add(&included, key);
                self.file(&included, home);
            }
            ("core", "hookspath") => self.add(&self.top.join(path(value)), key),
            ("core", "attributesfile") => self.add(&self.top.join(path(value)), key),
            _ if runs(key) => {
                // A path may be put together of parts, and begin in a folder that the command goes to.
                let tops: Vec<PathBuf> = std::iter::once(self.top.to_path_buf())
                    .chain(
                        words(value)
                            .map(|word| self.top.join(path(word)))
                            .filter(|at| at.is_dir()),
                    )
                    .take(8)
                    .collect();
                for word in words(value).take(64) {
                    let plain = word.strip_prefix(b"/").unwrap_or(word);
                    let places = tops.iter().map(|top| top.join(OsStr::from_bytes(plain)));
                    for program in places.chain([path(word)]) {
                        let is_path =
                            word.contains(&b'/') && program.parent().is_some_and(Path::is_dir);
                        if program.is_file() || is_path && !program.is_dir() {
                            self.add(&program, key);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds a path that lies where the sandbox may write, and is no folder of everything there.
    fn add(&mut self, path: &Path, key: &Key) {
        let plain = super::leads::plain(path);
        for path in [bailiwick_policy::resolve_existing(&plain), plain] {
            let inside = self
                .folders
                .iter()
                .any(|folder| path.starts_with(folder) && path != *folder);
            if inside && super::leads::below_git(&path).is_none() && self.found.len() < PATHS {
                self.found.insert(Followed {
                    path,
                    variable: key.to_string(),
                });
            }
        }
    }
}

/// Whether git runs what a variable says.
fn runs(key: &Key) -> bool {
    matches!(
        (key.section.as_str(), key.name.as_str()),
        ("alias" | "pager", _)
            | (
                "core",
                "fsmonitor"
                    | "editor"
                    | "pager"
                    | "sshcommand"
                    | "gitproxy"
                    | "askpass"
                    | "alternaterefscommand",
            )
            | ("sequence", "editor")
            | ("interactive", "difffilter")
            | ("filter", "clean" | "smudge" | "process")
            | ("diff", "external" | "command" | "textconv")
            | ("merge", "driver")
            | ("gpg", "program" | "defaultkeycommand")
            | ("credential", "helper")
            | ("remote", "uploadpack" | "receivepack" | "vcs")
            | ("trailer", "command" | "cmd")
            | ("tar", "command")
            | (
                "difftool" | "mergetool" | "man" | "browser" | "guitool",
                "cmd" | "path"
            )
            | ("submodule", "update")
            | ("gc", "recentobjectshook")
            | ("hook", "command")
    )
}

/// The words of a command, as far as a shell would take them for words.
fn words(command: &[u8]) -> impl Iterator<Item = &[u8]> {
    command
        .split(|b| b.is_ascii_whitespace() || b"'\"`;|&()<>$=!".contains(b))
        .filter(|word| !word.is_empty() && !word.starts_with(b"-"))
}
