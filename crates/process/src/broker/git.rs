//! Which changes of git's configuration a sandboxed program may make. Git runs programs that its
//! configuration names, on the host, when the user next looks at the repository; what an agent
//! needs to change (remotes, branches, submodules) runs nothing.

use super::repository::is_name_of_module;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// One variable: section, subsection, name; section and name in lower case.
type Key = (String, Option<Vec<u8>>, String);

/// Why a configuration is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Objection {
    /// It cannot be read as git would read it.
    Unreadable(usize),
    /// This variable may not be changed.
    Key(String),
}

impl std::fmt::Display for Objection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(line) => write!(f, "line {line} cannot be read as configuration"),
            Self::Key(key) => write!(f, "{key} may not be changed"),
        }
    }
}

/// Whether `new` may take the place of `old`: every variable that differs must be harmless with
/// its new values. `module` is the folder of the file where that is a submodule's.
pub(crate) fn accept(old: &[u8], new: &[u8], module: Option<&Path>) -> Result<(), Objection> {
    let new = parse(new)?;
    // Git may read what is not read here (a NUL): nobody knows what would be taken away.
    let old = parse(old)?;
    let none = Vec::new();
    for key in old.keys().chain(new.keys()) {
        let (before, after) = (old.get(key).unwrap_or(&none), new.get(key).unwrap_or(&none));
        if before == after {
            continue;
        }
        // Taking away what the user has set may be as harmful as setting it.
        let harmless = is_known(key) && after.iter().all(|value| is_harmless(key, value));
        let moved = key.0 == "core" && key.2 == "worktree";
        let stays = |value: &Vec<u8>| module.is_some_and(|folder| stays(folder, value));
        if !harmless || moved && (module.is_none() || !after.iter().all(stays)) {
            return Err(Objection::Key(shown(key)));
        }
    }
    Ok(())
}

fn shown((section, subsection, name): &Key) -> String {
    match subsection {
        Some(sub) => format!("{section}.{}.{name}", String::from_utf8_lossy(sub)),
        None => format!("{section}.{name}"),
    }
}

/// Booleans and numbers that describe the repository itself.
const CORE: [&str; 8] = [
    "bare",
    "filemode",
    "repositoryformatversion",
    "logallrefupdates",
    "ignorecase",
    "precomposeunicode",
    "symlinks",
    "sharedrepository",
];

/// Whether the working tree of a submodule lies in the repository that the submodule is of.
fn stays(folder: &Path, value: &[u8]) -> bool {
    let Some(top) = folder
        .ancestors()
        .filter(|path| path.file_name().is_some_and(|name| name == ".git"))
        .last()
        .and_then(Path::parent)
    else {
        return false;
    };
    // Git writes none that it would have to quote.
    if value.iter().any(|b| b.is_ascii_control() || *b == b'\\') {
        return false;
    }
    let mut tree = folder.to_path_buf();
    for part in Path::new(OsStr::from_bytes(value)).components() {
        match part {
            Component::ParentDir => drop(tree.pop()),
            Component::Normal(name) if name != ".git" => tree.push(name),
            Component::CurDir => {}
            _ => return false,
        }
    }
    tree != top && tree.starts_with(top) && !tree.starts_with(top.join(".git"))
}

fn is_known(key: &Key) -> bool {
    let (section, subsection, name) = key;
    if section == "submodule" && subsection.as_ref().is_some_and(|n| !is_name_of_module(n)) {
        return false;
    }
    match (section.as_str(), subsection, name.as_str()) {
        ("core", None, name) => CORE.contains(&name) || name == "worktree",
        ("extensions", None, name) => [
            "objectformat",
            "worktreeconfig",
            "partialclone",
            "refstorage",
        ]
        .contains(&name),
        ("user", None, "name" | "email") => true,
        ("branch", Some(_), name) => [
            "remote",
            "merge",
            "rebase",
            "description",
            "pushremote",
            "vscode-merge-base",
        ]
        .contains(&name),
        ("remote", Some(_), name) => [
            "url",
            "fetch",
            "push",
            "pushurl",
            "tagopt",
            "prune",
            "promisor",
            "partialclonefilter",
        ]
        .contains(&name),
        ("submodule", Some(_), name) => [
            "url", "active", "path", "branch", "update", "ignore", "shallow",
        ]
        .contains(&name),
        ("submodule", None, "active") => true,
        _ => false,
    }
}

/// Whether a known variable may have this value.
fn is_harmless(key: &Key, value: &[u8]) -> bool {
    match (key.0.as_str(), key.2.as_str()) {
        (_, "url" | "pushurl") => is_harmless_url(value),
        // Where no remote has this name, it is an address.
        ("branch", "remote" | "pushremote") | ("extensions", "partialclone") => {
            is_harmless_url(value)
        }
        // `!command` runs it.
        ("submodule", "update") => !value.starts_with(b"!"),
        (_, "path") => !value.starts_with(b"/") && !value.starts_with(b"-") && !parent(value),
        _ => true,
    }
}

fn parent(path: &[u8]) -> bool {
    path.split(|&b| b == b'/').any(|part| part == b"..")
}

/// A transport `name::` runs a program `git-remote-name`; a leading dash is an option to whoever
/// is given the address.
fn is_harmless_url(url: &[u8]) -> bool {
    let host = url
        .windows(3)
        .position(|w| w == b"://")
        .map_or(url, |at| &url[at + 3..]);
    !url.starts_with(b"-")
        && !host.starts_with(b"-")
        && !url.windows(2).any(|w| w == b"::")
        && !url.iter().any(|b| b.is_ascii_control())
}

/// Reads a configuration as git does (git-config(1), *Syntax*): sections, subsections, values with
/// quotes, escapes and continued lines.
fn parse(text: &[u8]) -> Result<BTreeMap<Key, Vec<Vec<u8>>>, Objection> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    // Git, which is written in C, may see an end there.
    if let Some(at) = text.iter().position(|&b| b == 0) {
        let line = 1 + text[..at].iter().filter(|&&b| b == b'\n').count();
        return Err(Objection::Unreadable(line));
    }
    let mut reader = Reader {
        text,
        at: 0,
        line: 1,
    };
    let mut variables: BTreeMap<Key, Vec<Vec<u8>>> = BTreeMap::new();
    let mut section: Option<(String, Option<Vec<u8>>)> = None;
    loop {
        match reader.peek() {
            None => return Ok(variables),
            Some(b'#' | b';') => reader.skip_line(),
            Some(b' ' | b'\t' | b'\r' | b'\n') => drop(reader.next()),
            Some(b'[') => section = Some(reader.section()?),
            Some(b) if b.is_ascii_alphabetic() => {
                let (name, value) = reader.variable()?;
                let Some((section, subsection)) = section.clone() else {
                    return Err(reader.objection());
                };
                variables
                    .entry((section, subsection, name))
                    .or_default()
                    .push(value);
            }
            Some(_) => return Err(reader.objection()),
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl Reader<'_> {
    fn objection(&self) -> Objection {
        Objection::Unreadable(self.line)
    }

    /// The next byte; git reads `\r\n` as one end of a line.
    fn peek(&self) -> Option<u8> {
        match self.text.get(self.at) {
            Some(b'\r') if self.text.get(self.at + 1) == Some(&b'\n') => Some(b'\n'),
            other => other.copied(),
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += if self.text[self.at] != byte { 2 } else { 1 };
        self.line += usize::from(byte == b'\n');
        Some(byte)
    }

    fn skip_line(&mut self) {
        while !matches!(self.next(), None | Some(b'\n')) {}
    }

    /// `[section]`, `[section "subsection"]`, and the old `[section.subsection]`.
    fn section(&mut self) -> Result<(String, Option<Vec<u8>>), Objection> {
        self.next();
        let mut name = String::new();
        loop {
            match self.next() {
                Some(b']') => break,
                Some(b) if b.is_ascii_alphanumeric() || b == b'-' || b == b'.' => {
                    name.push(b.to_ascii_lowercase().into());
                }
                Some(b' ' | b'\t') => {
                    let subsection = self.quoted_subsection()?;
                    return Ok((name, Some(subsection)));
                }
                _ => return Err(self.objection()),
            }
        }
        Ok(match name.split_once('.') {
            Some((section, sub)) => (section.to_owned(), Some(sub.as_bytes().to_vec())),
            None => (name, None),
        })
    }

    fn quoted_subsection(&mut self) -> Result<Vec<u8>, Objection> {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.next();
        }
        if self.next() != Some(b'"') {
            return Err(self.objection());
        }
        let mut name = Vec::new();
        loop {
            match self.next() {
                None | Some(b'\n') => return Err(self.objection()),
                Some(b'"') => break,
                Some(b'\\') => match self.next() {
                    None | Some(b'\n') => return Err(self.objection()),
                    Some(b) => name.push(b),
                },
                Some(b) => name.push(b),
            }
        }
        match self.next() {
            Some(b']') => Ok(name),
            _ => Err(self.objection()),
        }
    }

    /// `name = value`, or `name` alone, which means true.
    fn variable(&mut self) -> Result<(String, Vec<u8>), Objection> {
        let mut name = String::new();
        while let Some(b) = self
            .peek()
            .filter(|b| b.is_ascii_alphanumeric() || *b == b'-')
        {
            name.push(b.to_ascii_lowercase().into());
            self.next();
        }
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.next();
        }
        match self.next() {
            None | Some(b'\n') => Ok((name, b"true".to_vec())),
            Some(b'=') => Ok((name, self.value()?)),
            _ => Err(self.objection()),
        }
    }

    fn value(&mut self) -> Result<Vec<u8>, Objection> {
        let mut value = Vec::new();
        let mut kept = 0;
        let mut quoted = false;
        let mut comment = false;
        loop {
            let byte = match self.next() {
                None | Some(b'\n') if quoted => return Err(self.objection()),
                None | Some(b'\n') => break,
                Some(byte) => byte,
            };
            if comment {
                continue;
            }
            match byte {
                b' ' | b'\t' | b'\r' if !quoted => {
                    // Kept only between words.
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                b'#' | b';' if !quoted => {
                    comment = true;
                    continue;
                }
                b'\\' => match self.next() {
                    // White space before it stays.
                    Some(b'\n') => {}
                    Some(b't') => value.push(b'\t'),
                    Some(b'b') => value.push(8),
                    Some(b'n') => value.push(b'\n'),
                    Some(b @ (b'\\' | b'"')) => value.push(b),
                    _ => return Err(self.objection()),
                },
                b'"' => quoted = !quoted,
                other => value.push(other),
            }
            kept = value.len();
        }
        value.truncate(kept);
        Ok(value)
    }
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod tests;
