//! Where the hosts of a set come from: the user's side (the home directory, the system, the
//! environment, the client's own installed files), or files of the workspace.
//!
//! Decision: a file is the workspace's word if it lies in the workspace, if a link on the way to it
//! does, or if the sandbox may write either: whatever a run can have written must not choose where
//! the next run may connect to. Such hosts count only where they were trusted, and never where they
//! are this machine, a private network or a metadata service.

use super::url;
use crate::Effective;
use crate::explain::{Access, decide_path};
use crate::request::Request;
use crate::source_text::read_regular;
use bailiwick_event::{HostPattern, PatternHost, Text};
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows on one way (path_resolution(7)).
const LINKS: usize = 40;

/// Which hosts of the workspace's files count.
#[derive(Clone, Copy)]
pub(crate) enum Accepted<'a> {
    /// All that could be trusted, to be shown to the user.
    All,
    /// Those that were trusted.
    These(&'a [HostPattern]),
}

/// Where a client's setting was written.
pub(crate) enum Place {
    /// A variable of the caller's, or a question to the client.
    Variable(String),
    /// A configuration file.
    File(PathBuf),
}

/// A host and the file or variable that named it.
pub(crate) type Named = (HostPattern, String);

/// What a set has found.
#[derive(Default)]
pub(crate) struct Found {
    /// Hosts of the user's side.
    pub(crate) own: Vec<Named>,
    /// Hosts of the workspace's files that count.
    pub(crate) accepted: Vec<Named>,
    /// Hosts of the workspace's files that were not trusted.
    pub(crate) left_out: Vec<Named>,
    /// Hosts of the workspace's files that nobody can trust: this machine, private networks,
    /// metadata services.
    pub(crate) inward: Vec<Named>,
    /// Configuration files that named a host: the client needs to see them too.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) notices: Vec<String>,
}

impl Found {
    /// The hosts that count, each once.
    pub(crate) fn hosts(&self) -> Vec<Named> {
        let more = self.accepted.iter().filter(|(p, _)| !has(&self.own, p));
        self.own.iter().chain(more).cloned().collect()
    }

    /// Whether the set stands for nothing, and nothing was left out.
    pub(crate) fn is_empty(&self) -> bool {
        let lists = [&self.own, &self.accepted, &self.left_out, &self.inward];
        lists.iter().all(|list| list.is_empty())
    }
}

fn has(list: &[Named], pattern: &HostPattern) -> bool {
    list.iter().any(|(p, _)| p == pattern)
}

/// Where a set looks, and what it has found.
pub(crate) struct Search<'a> {
    pub(crate) request: &'a Request,
    pub(crate) workspace: &'a Path,
    /// What the sandbox may write.
    effective: &'a Effective,
    accepted: Accepted<'a>,
    pub(crate) found: Found,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        request: &'a Request,
        effective: &'a Effective,
        accepted: Accepted<'a>,
    ) -> Self {
        Self {
            request,
            workspace: &effective.workspace,
            effective,
            accepted,
            found: Found::default(),
        }
    }

    /// What was found: a host of the user's side needs no trust.
    pub(crate) fn finish(self) -> Found {
        let mut found = self.found;
        let own = std::mem::take(&mut found.own);
        for list in [&mut found.accepted, &mut found.left_out, &mut found.inward] {
            list.retain(|(pattern, _)| !has(&own, pattern));
        }
        found.own = own;
        found
    }

    /// The text of a configuration file; None where there is none that can be read. A relative path
    /// would begin wherever this program was started.
    pub(crate) fn read(&self, path: &Path) -> Option<String> {
        let path = path.is_absolute().then_some(path)?;
        let bytes = read_regular(path, 1 << 20).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The text of a file that was installed with the client; the workspace has none of these.
    pub(crate) fn read_installed(&self, path: &Path) -> Option<String> {
        (!self.is_workspaces(path)).then(|| self.read(path))?
    }

    /// A variable of the caller, as text.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.request
            .variable(name)
            .and_then(|v| v.to_str())
            .map(str::to_owned)
    }

    pub(crate) fn home(&self, rest: &str) -> PathBuf {
        self.request.home.join(rest)
    }

    /// A file by which the client is configured, as the user would write it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        shown(self.request, self.workspace, path)
    }

    /// Whether a file, or a link on the way to it, lies in the workspace or may be written by the
    /// sandbox. Where that cannot be told it is so.
    pub(crate) fn is_workspaces(&self, path: &Path) -> bool {
        // What is protected may have been made before it was.
        let writes = |path: &Path| {
            let access = decide_path(self.effective, path).0;
            matches!(access, Access::Write | Access::Protected)
        };
        let theirs = |path: &Path| path.starts_with(self.workspace) || writes(path);
        let mut path = path.to_path_buf();
        if !path.is_absolute() {
            return true;
        }
        for _ in 0..=LINKS {
            match first_link(&path) {
                Ok((link, _)) if theirs(&link) => return true,
                Ok((_, target)) => path = target,
                Err(end) => return theirs(&end),
            }
        }
        true
    }

    /// Adds the machine of a URL; whether it counts.
    pub(crate) fn add(&mut self, text: &str, place: &Place) -> bool {
        match place {
            Place::Variable(name) => self.add_own(text, name),
            Place::File(file) => self.add_from(text, file),
        }
    }

    /// Adds the machine of a URL that a variable, the client or a file of its own names; whether
    /// there was one.
    pub(crate) fn add_own(&mut self, text: &str, from: &str) -> bool {
        let Some(pattern) = url::host_of(text) else {
            return false;
        };
        if !has(&self.found.own, &pattern) {
            self.found.own.push((pattern, from.to_owned()));
        }
        true
    }

    /// Adds the machine of a URL that a configuration file names; whether it counts.
    pub(crate) fn add_from(&mut self, text: &str, file: &Path) -> bool {
        if self.is_workspaces(file) {
            return self.add_workspaces(text, file);
        }
        let shown = self.shown(file);
        let added = self.add_own(text, &shown);
        let files = &mut self.found.files;
        if added && file.starts_with(&self.request.home) && !files.iter().any(|f| f == file) {
            files.push(file.to_path_buf());
        }
        added
    }

    /// Adds the machine of a URL that a file gives in the name of the workspace; whether it counts.
    pub(crate) fn add_workspaces(&mut self, text: &str, file: &Path) -> bool {
        let Some(pattern) = url::host_of(text) else {
            return false;
        };
        let trusted = match self.accepted {
            Accepted::All => true,
            Accepted::These(trusted) => trusted.contains(&pattern),
        };
        let outward = matches!(&pattern.host, PatternHost::Exact(host) if !host.is_inward());
        let list = match (outward, trusted) {
            (true, true) => &mut self.found.accepted,
            (true, false) => &mut self.found.left_out,
            (false, _) => &mut self.found.inward,
        };
        let from = shown(self.request, self.workspace, file);
        if !has(list, &pattern) {
            list.push((pattern, from));
        }
        outward && trusted
    }

    /// Whether a value that stands at a place is to be obeyed where it names no host that counts: one
    /// of the workspace's is passed over.
    pub(crate) fn obeys(&self, place: &Place) -> bool {
        match place {
            Place::Variable(_) => true,
            Place::File(file) => !self.is_workspaces(file),
        }
    }

    pub(crate) fn notice(&mut self, text: String) {
        self.found.notices.push(text);
    }
}

/// A file below the workspace, or as every message names it.
fn shown(request: &Request, workspace: &Path, path: &Path) -> String {
    match path.strip_prefix(workspace) {
        Ok(rest) => Text::from(rest.as_os_str()).to_string(),
        Err(_) => Text::from(request.shown(path)).to_string(),
    }
}

/// The first link on the way of an absolute path, and the path that the rest of the way then has;
/// where there is none, the path without `.` and `..`.
fn first_link(path: &Path) -> Result<(PathBuf, PathBuf), PathBuf> {
    let mut at = PathBuf::new();
    let mut parts = path.components();
    while let Some(part) = parts.next() {
        match part {
            Component::ParentDir => {
                at.pop();
            }
            Component::CurDir => {}
            part => at.push(part),
        }
        if let Ok(target) = at.read_link() {
            let folder = at.parent().unwrap_or(Path::new("/"));
            let rest = folder.join(target).join(parts.as_path());
            return Ok((at, rest));
        }
    }
    Err(at)
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
