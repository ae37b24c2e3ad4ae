//! Programs that a user installed below the home directory: what is on PATH works inside, without
//! a line in any policy. Decision: only what is known to hold programs becomes readable, entry by
//! entry; a folder as a whole never does, because credentials lie next to the programs
//! (`~/.cargo/credentials.toml`). A link that a sandbox could have made shows nothing: what it leads
//! to is left out, unless it is shown anyway.

mod found;

use crate::entry::{Entry, Value};
use crate::keys::{self, KeyId};
use crate::request::Request;
use crate::{Step, Way, remembering};
use bailiwick_event::Origin;
pub(crate) use found::Found;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A kind of toolchain and its root.
struct Known {
    name: &'static str,
    /// The variable that moves the root.
    variable: Option<&'static str>,
    /// Below the home directory.
    root: &'static str,
    /// What is readable below the root; "" is all of it.
    read: &'static [&'static str],
    /// What is a cache below the root.
    private: &'static [&'static str],
}

macro_rules! known {
    ($name:literal, $variable:expr, $root:literal, $read:expr, $private:expr) => {
        Known {
            name: $name,
            variable: $variable,
            root: $root,
            read: &$read,
            private: &$private,
        }
    };
}

const KNOWN: &[Known] = &[
    known!(
        "cargo",
        Some("CARGO_HOME"),
        ".cargo",
        ["bin", "env", "config", "config.toml"],
        ["registry", "git"]
    ),
    known!("rustup", Some("RUSTUP_HOME"), ".rustup", [""], []),
    known!("pyenv", Some("PYENV_ROOT"), ".pyenv", [""], []),
    known!("nvm", Some("NVM_DIR"), ".nvm", [""], []),
    known!("volta", Some("VOLTA_HOME"), ".volta", [""], []),
    known!("fnm", Some("FNM_DIR"), ".fnm", [""], []),
    known!("fnm", None, ".local/share/fnm", [""], []),
    known!(
        "bun",
        Some("BUN_INSTALL"),
        ".bun",
        ["bin"],
        ["install/cache"]
    ),
    known!("deno", None, ".deno", ["bin"], []),
    known!("sdkman", Some("SDKMAN_DIR"), ".sdkman", [""], []),
    known!("rbenv", Some("RBENV_ROOT"), ".rbenv", [""], []),
    known!("asdf", Some("ASDF_DATA_DIR"), ".asdf", [""], []),
    known!("mise", Some("MISE_DATA_DIR"), ".local/share/mise", [""], []),
    known!("go", Some("GOPATH"), "go", ["bin"], ["pkg"]),
];

/// Finds the toolchains of a request's PATH.
pub(crate) fn find(request: &Request, workspace: &Path) -> Found {
    let _moment = remembering();
    let mut search = Search {
        request,
        found: Found::default(),
        seen: BTreeSet::new(),
    };
    let path = request.variable("PATH").unwrap_or(OsStr::new(""));
    let mut node = false;
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(path) {
        let below = folder.starts_with(&request.home) && folder != request.home;
        // What the workspace holds is visible, and was not installed by the user.
        if !below || folder.starts_with(workspace) || folders.contains(&folder) {
            continue;
        }
        folders.push(folder);
    }
    for folder in folders.iter().filter(|f| f.is_dir()) {
        node |= ["node", "npm", "bun"]
            .iter()
            .any(|n| folder.join(n).exists());
        if !search.one(folder) {
            search.found.hidden.push(folder.clone());
        }
    }
    if node || system_node(path) {
        let npm = request.home.join(".npm");
        search.push("node", KeyId::Private, &npm);
    }
    search.found
}

/// Whether node is among the system's programs.
fn system_node(path: &OsStr) -> bool {
    let system = |folder: &PathBuf| folder.starts_with("/usr") || folder.starts_with("/opt");
    std::env::split_paths(path)
        .filter(system)
        .any(|folder| folder.join("node").exists())
}

struct Search<'a> {
    request: &'a Request,
    found: Found,
    seen: BTreeSet<PathBuf>,
}

impl Search<'_> {
    /// Adds an entry, if no other has its path; false: the path cannot be written in a policy.
    fn push(&mut self, name: &str, key: KeyId, path: &Path) -> bool {
        let Some(text) = path.to_str().filter(|t| !crate::paths::is_pattern(t)) else {
            return false;
        };
        if self.seen.insert(path.to_path_buf()) {
            self.found.entries.push(Entry {
                key: keys::of(key),
                value: Value::Text(text.to_owned()),
                span: 0..0,
                origin: Origin::new(format!("toolchain:{name}"), 0, 0),
            });
        }
        true
    }

    fn read(&mut self, name: &str, path: &Path) {
        self.read_behind(name, path, &[]);
    }

    /// Makes a path readable that was found through links, where there is something.
    fn read_behind(&mut self, name: &str, path: &Path, before: &[Step]) {
        let Some(mut way) = Way::of(path) else {
            return;
        };
        way.links.splice(..0, before.iter().cloned());
        if self.push(name, KeyId::Read, path) {
            self.found.ways.push((path.to_path_buf(), way));
        }
    }

    /// Makes what one folder of PATH needs visible; false: it stays hidden.
    fn one(&mut self, folder: &Path) -> bool {
        let home = &self.request.home;
        for known in KNOWN {
            if let Some(root) = self.root_of(known, folder) {
                for part in known.read {
                    self.read(known.name, &join(&root, part));
                }
                for part in known.private {
                    self.push(known.name, KeyId::Private, &root.join(part));
                }
                if known.name == "cargo" {
                    self.rustup();
                }
                return true;
            }
        }
        if *folder == home.join(".local/bin") {
            self.read("local", folder);
            self.behind_links(folder);
            return true;
        }
        let Some(parent) = folder
            .parent()
            .filter(|p| p != home && !home.starts_with(p))
        else {
            return false;
        };
        let is_prefix = parent.join("conda-meta").is_dir()
            || parent.join("pyvenv.cfg").is_file()
            || (folder.ends_with("bin") && parent.join("lib").is_dir());
        // ~/.local has a lib and a bin, but also everything else.
        if is_prefix && parent != home.join(".local") {
            let name = parent
                .file_name()
                .and_then(OsStr::to_str)
                .unwrap_or("local")
                .to_owned();
            self.read(&name, parent);
            self.virtual_env_base(&name, parent);
            return true;
        }
        false
    }

    /// The root of a known kind that a folder of PATH lies in.
    fn root_of(&self, known: &Known, folder: &Path) -> Option<PathBuf> {
        let home = &self.request.home;
        let moved = known
            .variable
            .and_then(|v| self.request.variable(v))
            .map(PathBuf::from);
        let usable = |root: &PathBuf| root.is_absolute() && root != home && !home.starts_with(root);
        let roots = moved
            .filter(usable)
            .into_iter()
            .chain([home.join(known.root)]);
        roots
            .into_iter()
            .find(|root| folder.starts_with(root) && folder != root)
    }

    /// What the programs in `~/.cargo/bin` lead to, although it is not on PATH.
    fn rustup(&mut self) {
        let moved = self
            .request
            .variable("RUSTUP_HOME")
            .map(PathBuf::from)
            .filter(|p| p.is_absolute());
        let root = moved.unwrap_or_else(|| self.request.home.join(".rustup"));
        if root.starts_with(&self.request.home) && root != self.request.home {
            self.read("rustup", &root);
        }
    }

    /// `~/.local/bin/tool` often leads to `~/.local/share/tool/…` or `~/.local/lib/tool/…`.
    fn behind_links(&mut self, folder: &Path) {
        let local = self.request.home.join(".local");
        let links = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for link in links.filter(|e| e.file_type().is_ok_and(|t| t.is_symlink())) {
            let Some(way) = Way::of(&link.path()) else {
                continue;
            };
            for base in [local.join("share"), local.join("lib")] {
                let base = base.canonicalize().unwrap_or(base);
                if let Ok(rest) = way.real.strip_prefix(&base)
                    && let Some(first) = rest.components().next()
                {
                    self.read_behind("local", &base.join(first), &way.links);
                }
            }
        }
    }

    /// A virtual environment needs the Python that made it.
    fn virtual_env_base(&mut self, name: &str, prefix: &Path) {
        let Some(python) = Way::of(&prefix.join("bin/python")) else {
            return;
        };
        let base = python.real.parent().and_then(Path::parent);
        if let Some(base) = base.filter(|b| {
            b.starts_with(&self.request.home) && *b != self.request.home && b.join("lib").is_dir()
        }) {
            self.read_behind(name, base, &python.links);
        }
    }
}

fn join(root: &Path, part: &str) -> PathBuf {
    if part.is_empty() {
        root.to_path_buf()
    } else {
        root.join(part)
    }
}

#[cfg(test)]
#[path = "toolchains_tests.rs"]
mod tests;
