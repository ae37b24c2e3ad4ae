//! What no sandbox is given to write as a whole: the home directory, and the files that say what a
//! sandbox may do. The next run would obey what this one wrote there. Workspaces and the entries of
//! `filesystem.write` are held to the same.

use crate::built_in;
use crate::diagnostic::Diagnostic;
use crate::entry::Value;
use crate::error::PolicyError;
use crate::keys::KeyId;
use crate::paths::{Bases, expand};
use crate::request::Request;
use crate::stack::Unit;
use crate::workspace::{PROJECT, canonical, resolve_existing};
use crate::{Effective, PathPattern, remembering};
use bailiwick_event::Text;
use std::path::{Path, PathBuf};

/// How to mend an entry that opens too much.
pub(crate) const NARROWER: &str = "name the folders that are needed (\"~/.config/tool\")";

/// The places of one user, links followed.
pub(crate) struct Wide {
    home: PathBuf,
    /// The product's own files, and what each is.
    own: [(&'static str, PathBuf); 4],
    /// The folders that they alone lie in.
    places: Vec<PathBuf>,
}

/// Why a folder is too much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It holds what it must not: what it is.
    Holds(String),
    /// It lies in a folder of the product's own.
    Own(PathBuf),
}

impl Wide {
    pub(crate) fn of(request: &Request) -> Self {
        let _moment = remembering();
        let home = canonical(&request.home);
        Self {
            home: home.unwrap_or_else(|_| request.home.clone()),
            own: [
                ("the user's policy", &request.user_file),
                ("the system's policy", &request.system_file),
                ("the trust store", &request.trust_file),
                ("the cache", &request.cache),
            ]
            .map(|(what, file)| (what, resolve_existing(file))),
            places: built_in::own_places(request)
                .map(resolve_existing)
                .collect(),
        }
    }

    /// Whether a folder, which is given without links, holds too much; and what it is then.
    pub(crate) fn holds(&self, folder: &Path) -> Option<String> {
        if folder == Path::new("/") {
            return Some("the root of the file system".to_owned());
        }
        if folder == self.home {
            return Some("the home directory".to_owned());
        }
        if self.home != Path::new("/") && self.home.starts_with(folder) {
            return Some("a folder that contains the home directory".to_owned());
        }
        let mut own = self.own.iter();
        let (what, _) = own.find(|(_, file)| file.starts_with(folder))?;
        Some(format!("a folder that contains {what}"))
    }

    /// The folder of the product's own that a path, which is given without links, lies in.
    pub(crate) fn own(&self, path: &Path) -> Option<&Path> {
        let mut places = self.places.iter();
        places
            .find(|own| path.starts_with(own))
            .map(PathBuf::as_path)
    }

    /// The same of what a glob can match below a folder, which is given without links.
    fn held_by_matches(&self, root: PathBuf, glob: &str) -> Option<String> {
        let pattern = PathPattern::Glob {
            root,
            glob: glob.to_owned(),
        };
        let matches = |path: &Path| pattern.covers(path).is_some();
        if matches(&self.home) {
            return Some("the home directory, or a folder that contains it".to_owned());
        }
        if matches(&self.home.join(ANY_NAME)) {
            return Some("everything in the home directory".to_owned());
        }
        let mut own = self.own.iter();
        let (what, _) = own.find(|(_, file)| matches(file))?;
        Some(format!("a folder that contains {what}"))
    }

    /// Why what a pattern means is too much to be written.
    pub(crate) fn judge(&self, pattern: &PathPattern) -> Option<Why> {
        let (PathPattern::Path(path) | PathPattern::Glob { root: path, .. }) = pattern;
        let real = resolve_existing(path);
        if let Some(own) = self.own(&real) {
            return Some(Why::Own(own.to_path_buf()));
        }
        let held = match pattern {
            PathPattern::Path(_) => self.holds(&real),
            PathPattern::Glob { glob, .. } => self.held_by_matches(real, glob),
        };
        held.map(Why::Holds)
    }
}

/// A name that no file has, and that no glob means in particular.
const ANY_NAME: &str = "\u{1}";

impl Why {
    /// What is wrong with a pattern, which people know as `shown`, and how to mend it. `flag` is what accepts
    /// it, where something does.
    pub(crate) fn told(&self, pattern: &PathPattern, shown: &str, flag: &str) -> (String, String) {
        let verb = match pattern {
            PathPattern::Path(_) => "is",
            PathPattern::Glob { .. } => "matches",
        };
        match self {
            Self::Holds(what) => (
                format!("{shown} {verb} {what}: no sandbox may write that as a whole"),
                format!("{NARROWER}{flag}"),
            ),
            Self::Own(own) => (
                format!(
                    "{shown} lies in {}, where the product keeps its own files, which no sandbox sees",
                    Text::from(own.as_os_str())
                ),
                "leave the entry out".to_owned(),
            ),
        }
    }
}

/// A pattern in full, safe to show.
fn shown(pattern: &PathPattern) -> String {
    match pattern {
        PathPattern::Path(path) => Text::from(path.as_os_str()).to_string(),
        PathPattern::Glob { root, glob } => {
            let (root, glob) = (Text::from(root.as_os_str()), Text::from(glob.as_str()));
            format!("\"{glob}\" in {root}")
        }
    }
}

/// Refuses a policy that lets too much be written. The workspace was judged already.
pub(crate) fn refuse(request: &Request, policy: &Effective) -> Result<(), PolicyError> {
    let is_workspace = |pattern: &PathPattern| {
        let (PathPattern::Path(path) | PathPattern::Glob { root: path, .. }) = pattern;
        *path == policy.workspace
    };
    let entries = policy.filesystem.write.iter();
    let mut others = entries.filter(|e| !is_workspace(&e.pattern)).peekable();
    if others.peek().is_none() {
        return Ok(());
    }
    let wide = Wide::of(request);
    for entry in others {
        match wide.judge(&entry.pattern) {
            Some(Why::Holds(_)) if request.allow_wide_workspace => {}
            Some(why) => {
                let flag = ", or give --allow-wide-workspace";
                let (message, remedy) = why.told(&entry.pattern, &shown(&entry.pattern), flag);
                return Err(PolicyError::WideEntry {
                    origin: entry.origin.clone(),
                    message,
                    remedy,
                });
            }
            None => {}
        }
    }
    Ok(())
}

/// The entries of files that open too much wherever a run begins. Where an entry begins at a workspace
/// that only a run knows, nothing is said.
pub(crate) fn find(units: &[Unit], path: &Path, request: &Request) -> Vec<Diagnostic> {
    let wide = Wide::of(request);
    let unknown = Path::new("/\0workspace");
    let everywhere = [&request.user_file, &request.system_file];
    let mut found = Vec::new();
    for unit in units {
        let source = &unit.document.source;
        let Some(file) = &source.path else {
            // A template speaks of the workspace.
            continue;
        };
        let given = canonical(path).unwrap_or_else(|_| path.to_path_buf());
        let speaks_of_all = everywhere
            .iter()
            .any(|known| **known == *path || resolve_existing(known) == given);
        let folder = file.parent().unwrap_or(Path::new("/"));
        let bases = Bases {
            home: request.home.clone(),
            workspace: match path.file_name().is_some_and(|name| name == PROJECT) {
                true => folder.to_path_buf(),
                false => unknown.to_path_buf(),
            },
            relative: match speaks_of_all {
                true => unknown.to_path_buf(),
                false => folder.to_path_buf(),
            },
        };
        for entry in unit.document.of(KeyId::Write) {
            let Value::Text(text) = &entry.value else {
                continue;
            };
            let pattern = expand(text, &bases);
            if let Some(why) = wide.judge(&pattern) {
                let flag = "; a run accepts it with --allow-wide-workspace";
                let (message, help) = why.told(&pattern, &shown(&pattern), flag);
                found.push(Diagnostic::error(source, entry.span.clone(), message, help));
            }
        }
    }
    found
}

#[cfg(test)]
#[path = "wide_tests.rs"]
mod tests;
