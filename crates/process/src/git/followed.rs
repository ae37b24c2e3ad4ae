//! What a repository's configuration leads to at the start of a run: folders of hooks, files that it includes,
//! programs that it names, and programs that its hooks call. The user put them there, and git runs or obeys them;
//! so a sandboxed program may write them no more than the hooks themselves.

mod commands;
mod lists;
mod modules;
mod on_path;
mod scripts;
mod settings;

pub(crate) use self::commands::{called_at, folder_of_commands, named_at};
use self::scripts::{DEPTH, Kind, Later, Script, Text as Called};
use super::config::Key;
use super::configurations::Configurations;
use super::remotes;
use crate::setup::raw;
use bailiwick_event::Text;
use bailiwick_policy::Way;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// A configuration is at most so long, in bytes, and includes so many others.
const LENGTH: u64 = 1 << 20;
const FILES: usize = 32;
/// So many variables of git's are read of the environment.
const VARIABLES: usize = 64;
/// So many paths are followed of one repository; with more, all that may be written is closed.
const PATHS: usize = 4096;

/// A path that git obeys because a configuration names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Followed {
    /// Where it is; a relative one is obeyed in every repository.
    #[serde(with = "raw")]
    pub(crate) path: PathBuf,
    /// The variable that names it, or the hook that calls it.
    pub(crate) by: String,
    /// Whether it is a folder of which more may be called than is looked at.
    pub(crate) closed: bool,
}

/// What the configurations of the repositories at these folders, and the user's own, lead to in them.
pub(crate) fn followed(folders: &[PathBuf], home: &Path) -> Vec<Followed> {
    let (mut found, read) = (BTreeSet::new(), Configurations::default());
    for folder in folders {
        found.extend(followed_at(folder, folders, home, &read));
        found.extend(called_at(folder, folders, home));
        // Git looks for its folder upwards.
        let tree = folder.ancestors().find(|above| above.join(".git").exists());
        if let Some(tree) = tree.filter(|tree| tree != folder) {
            found.extend(followed_at(tree, folders, home, &read));
        }
    }
    found.into_iter().collect()
}

/// Beginnings of addresses that the user's own configuration has git take for folders of this machine.
pub(crate) fn rewritten(home: &Path, read: &Configurations) -> Vec<Vec<u8>> {
    let mut reading = Reading::new(home, &[], home, read);
    reading.users_own();
    reading.rewritten.into_iter().collect()
}

/// The same of the repository at one folder, which may lie in one of `folders`.
pub(crate) fn followed_at(
    tree: &Path,
    folders: &[PathBuf],
    home: &Path,
    read: &Configurations,
) -> Vec<Followed> {
    let git = git_folders(tree);
    let named = git.first().and_then(|git| {
        let tree = super::leads::names_tree(&*read.of(&git.join("config"))?)?;
        Some(super::leads::plain(&git.join(tree)))
    });
    let mut found = followed_in(tree, git.clone(), folders, home, read);
    // Relative paths begin at the working tree.
    if let Some(named) = named.filter(|named| named != tree) {
        found.extend(followed_in(&named, git, folders, home, read));
    }
    found
}

/// The same of a working tree whose git folders are these.
pub(super) fn followed_in(
    tree: &Path,
    git_folders: Vec<PathBuf>,
    folders: &[PathBuf],
    home: &Path,
    read: &Configurations,
) -> Vec<Followed> {
    let mut reading = Reading::new(tree, folders, home, read);
    for folder in git_folders {
        reading.file(&folder.join("config"));
        reading.file(&folder.join("config.worktree"));
        reading.hooks.push(folder.join("hooks"));
    }
    reading.users_own();
    for folder in std::mem::take(&mut reading.hooks) {
        reading.folder_of_hooks(&folder);
    }
    reading.follow();
    reading.found.into_iter().collect()
}

/// The git folders of a working tree.
pub(super) fn git_folders(tree: &Path) -> Vec<PathBuf> {
    let git = tree.join(".git");
    let git = match git.is_file() {
        true => line(&git, "gitdir: ").unwrap_or(git),
        false if git.is_dir() => git,
        // Itself one, without a working tree.
        false => tree.to_path_buf(),
    };
    with_common(git)
}

/// Where the configuration is of the repository of a working tree that has one.
pub(crate) fn configuration_of_tree(tree: &Path) -> Option<PathBuf> {
    let has = tree.join(".git").symlink_metadata().is_ok();
    let folders = git_folders(tree);
    folders.last().filter(|_| has).map(|git| git.join("config"))
}

/// A git folder, and the one that it shares with others.
pub(super) fn with_common(git: PathBuf) -> Vec<PathBuf> {
    let common = line(&git.join("commondir"), "");
    std::iter::once(git).chain(common).collect()
}

/// The path that a file leads to in its first line, behind `head`.
pub(super) fn line(file: &Path, head: &str) -> Option<PathBuf> {
    let text = read(file)?;
    let line = text.strip_suffix(b"\n").unwrap_or(&text);
    let target = line.strip_prefix(head.as_bytes())?;
    Some(file.parent()?.join(OsStr::from_bytes(target)))
}

/// What a file of configuration says, unless it is none or too long.
pub(crate) fn read(file: &Path) -> Option<Vec<u8>> {
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
    home: &'a Path,
    read: &'a Configurations,
    /// Whether it is the user's own configuration, which every repository obeys.
    users: bool,
    files: usize,
    /// Scripts that are read yet, and what is looked for when all of them are.
    waiting: VecDeque<Script>,
    later: VecDeque<Later>,
    scripts: usize,
    /// How often something was looked for.
    looks: usize,
    /// Whether all that may be written is closed.
    closed: bool,
    /// Folders of hooks.
    hooks: Vec<PathBuf>,
    found: BTreeSet<Followed>,
    /// Beginnings of addresses that git takes for folders.
    rewritten: BTreeSet<Vec<u8>>,
}

impl<'a> Reading<'a> {
    fn new(
        top: &'a Path,
        folders: &'a [PathBuf],
        home: &'a Path,
        read: &'a Configurations,
    ) -> Self {
        Self {
            top,
            folders,
            home,
            read,
            users: false,
            files: 0,
            waiting: VecDeque::new(),
            later: VecDeque::new(),
            scripts: 0,
            looks: 0,
            closed: false,
            hooks: Vec::new(),
            found: BTreeSet::new(),
            rewritten: BTreeSet::new(),
        }
    }

    fn file(&mut self, file: &Path) {
        self.files += 1;
        if self.files > FILES {
            return;
        }
        let variables = self.read.of(file).unwrap_or_default();
        for (key, values) in &*variables {
            for value in values {
                self.value(key, value, file);
            }
        }
    }

    /// The user's own configuration, wherever git looks for it.
    fn users_own(&mut self) {
        self.users = true;
        for file in [".gitconfig", ".config/git/config", "/etc/gitconfig"] {
            self.file(&self.home.join(file));
        }
        self.environment();
    }

    /// What the caller's own variables say, and the files that they name: git obeys those as well.
    fn environment(&mut self) {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        for name in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
            if let Some(file) = variable(name) {
                self.file(&self.top.join(file));
            }
        }
        if let Some(folder) = variable("XDG_CONFIG_HOME") {
            self.file(&self.top.join(folder).join("git/config"));
        }
        for number in 0..VARIABLES {
            let key = variable(&format!("GIT_CONFIG_KEY_{number}"));
            let value = variable(&format!("GIT_CONFIG_VALUE_{number}"));
            let (Some(key), Some(value)) = (key, value) else {
                return;
            };
            if let Some(key) = key.to_str().and_then(Key::named) {
                self.value(&key, value.as_bytes(), Path::new("/"));
            }
        }
    }

    fn value(&mut self, key: &Key, value: &[u8], file: &Path) {
        match (key.section.as_str(), key.name.as_str()) {
            ("include" | "includeif", "path") => {
                let included = file.parent().unwrap_or(self.top).join(self.path(value));
                self.add(&included, &key.to_string());
                self.file(&included);
            }
            ("url", "insteadof" | "pushinsteadof") if remotes::may_be_folder(key) => {
                self.rewritten.insert(value.to_vec());
            }
            ("core", "hookspath" | "attributesfile") => {
                let path = self.path(value);
                if key.name == "hookspath" {
                    self.hooks.push(self.top.join(&path));
                }
                self.add(&self.top.join(&path), &key.to_string());
                let names = |part| matches!(part, Component::Normal(_) | Component::CurDir);
                if self.users && path.components().all(names) {
                    let by = key.to_string();
                    let closed = false;
                    self.found.insert(Followed { path, by, closed });
                }
            }
            _ if runs(key) => {
                let by = key.to_string();
                self.modules(value, &by);
                let mut text = Called::of(Kind::Value, &by);
                // In other repositories a run could have made what such scripts call.
                text.depth = if self.users { DEPTH } else { 0 };
                self.text(value, &text);
            }
            _ => {}
        }
    }

    /// What the hooks of a folder are, where they are links, and what they call.
    fn folder_of_hooks(&mut self, folder: &Path) {
        let by = "a link among hooks";
        self.links(folder, by);
        // What husky puts there calls the file of the same name in the folder above.
        if let Some(above) = folder.parent().filter(|_| folder.ends_with(".husky/_")) {
            self.folder_of_hooks(above);
        }
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries {
            let sample = entry.path().extension().is_some_and(|e| e == "sample");
            if !sample {
                self.links(&entry.path(), by);
                let hook = format!("the hook {}", Text::from(entry.file_name().as_os_str()));
                self.waiting.push_back(Script::new(entry.path(), &hook, 0));
            }
        }
    }

    /// Adds the links on a path, and what they lead to.
    fn links(&mut self, path: &Path, by: &str) {
        let Some(way) = Way::of(path).filter(|way| !way.links.is_empty()) else {
            return;
        };
        for link in &way.links {
            self.add(&link.at, by);
        }
        self.add(&way.real, by);
    }

    fn path(&self, value: &[u8]) -> PathBuf {
        match value.strip_prefix(b"~/") {
            Some(rest) => self.home.join(OsStr::from_bytes(rest)),
            None => PathBuf::from(OsStr::from_bytes(value)),
        }
    }

    /// Adds a path that lies where the sandbox may write, and is no folder of everything there. Whether it was
    /// not known.
    fn add(&mut self, path: &Path, by: &str) -> bool {
        let plain = super::leads::plain(path);
        let mut new = false;
        for path in [bailiwick_policy::resolve_existing(&plain), plain] {
            if self.is_inside(&path) && super::leads::below_git(&path).is_none() {
                if self.found.len() >= PATHS {
                    self.close_all(by);
                    return false;
                }
                let (by, closed) = (by.to_owned(), false);
                new |= self.found.insert(Followed { path, by, closed });
            }
        }
        new
    }

    fn is_inside(&self, path: &Path) -> bool {
        let inside = |folder: &PathBuf| path.starts_with(folder) && path != *folder;
        self.folders.iter().any(inside)
    }

    /// Adds a folder as a whole, because it holds more that may be called than is looked at.
    fn close(&mut self, folder: &Path, by: &str) {
        let plain = super::leads::plain(folder);
        for path in [bailiwick_policy::resolve_existing(&plain), plain] {
            if self.folders.iter().any(|top| path.starts_with(top)) {
                let (by, closed) = (by.to_owned(), true);
                self.found.insert(Followed { path, by, closed });
            }
        }
    }

    /// The same of all that may be written.
    fn close_all(&mut self, by: &str) {
        if !std::mem::replace(&mut self.closed, true) {
            for folder in self.folders {
                self.close(folder, by);
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
