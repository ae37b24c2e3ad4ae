//! What `docs/policy.md` says of protected names, as text and regular expressions: slow, and with
//! nothing in common with the matcher that it judges.

use bailiwick_policy::{Effective, PathPattern};
use bailiwick_process::fuzzing::Verdict;
use regex::bytes::Regex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// One rule.
struct Rule {
    number: u32,
    /// What is protected, with all that is below it; and what is protected itself.
    covers: Regex,
    exactly: Option<Regex>,
}

/// The rules of a policy.
pub struct Rules(Vec<Rule>);

impl Rules {
    pub fn of(policy: &Effective) -> Self {
        let mut rules = Vec::new();
        let files = &policy.filesystem;
        let protect = files.protect.iter().map(|e| (e, true));
        let deny = files.deny.iter().map(|e| (e, false));
        for (number, (entry, protect)) in (0..).zip(protect.chain(deny)) {
            let workspace = bytes(&policy.workspace);
            match &entry.pattern {
                PathPattern::Path(path) => {
                    rules.push(rule(number, &literal(bytes(path)), true));
                    if protect && let Some(name) = control(bytes(path), workspace) {
                        rules.push(anywhere(number, name));
                    }
                }
                PathPattern::Glob { root, glob } if protect => {
                    let whole = root.join(glob);
                    let plain =
                        |part: &[u8]| part == b"*" || !part.iter().any(|b| b"*?[{\\".contains(b));
                    match control(bytes(&whole), workspace) {
                        Some(name) if name.split(|b| *b == b'/').all(plain) => {
                            rules.push(anywhere(number, name));
                        }
                        _ => rules.push(below(number, bytes(root), glob)),
                    }
                }
                PathPattern::Glob { .. } => {}
            }
        }
        Self(rules)
    }

    pub fn decide(&self, path: &Path) -> Verdict {
        let path = bytes(path);
        let git = self
            .0
            .iter()
            .find(|rule| rule.covers.is_match(b"/home/u/ws/.git/config"));
        let git = git.filter(|_| is_git_configuration(path));
        for rule in self.0.iter().filter(|rule| rule.covers.is_match(path)) {
            let exactly = rule.exactly.as_ref().is_some_and(|e| e.is_match(path));
            if git.is_none() || !exactly {
                return Verdict::Refuse(rule.number);
            }
        }
        git.map_or(Verdict::Allow, |rule| Verdict::Git(rule.number))
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// A name below the workspace that begins with a dot, or has one part: the entries are those of a template.
fn control<'a>(path: &'a [u8], workspace: &[u8]) -> Option<&'a [u8]> {
    let below = path.strip_prefix(workspace)?.strip_prefix(b"/")?;
    (below.starts_with(b".") || !below.is_empty() && !below.contains(&b'/')).then_some(below)
}

/// These bytes and no others; `/` itself is where every path begins.
fn literal(text: &[u8]) -> String {
    let text = text.strip_suffix(b"/").unwrap_or(text);
    text.iter().map(|b| format!("\\x{b:02x}")).collect()
}

/// Compiled once: it takes far longer than all that is done with it.
fn regex(text: &str) -> Regex {
    thread_local! {
        static COMPILED: RefCell<HashMap<String, Regex>> = RefCell::default();
    }
    COMPILED.with_borrow_mut(|compiled| {
        if let Some(regex) = compiled.get(text) {
            return regex.clone();
        }
        if compiled.len() > 2000 {
            compiled.clear();
        }
        let regex = Regex::new(&format!("(?s-u){text}"));
        let regex = regex.unwrap_or_else(|e| panic!("{text}: {e}"));
        compiled.insert(text.to_owned(), regex.clone());
        regex
    })
}

fn rule(number: u32, whole: &str, exactly: bool) -> Rule {
    Rule {
        number,
        covers: regex(&format!("^{whole}(?:/|$)")),
        exactly: exactly.then(|| regex(&format!("^{whole}$"))),
    }
}

/// A control name, in either case, below any folder that may be written: that is all of them.
fn anywhere(number: u32, name: &[u8]) -> Rule {
    let part = |part: &[u8]| match part {
        b"*" => "[^/]+(?:/[^/]+)*".to_owned(),
        part => format!("(?i:{})", literal(part)),
    };
    let name: Vec<String> = name.split(|b| *b == b'/').map(part).collect();
    let whole = format!("(?:/[^/]+)*/{}", name.join("/"));
    rule(number, &whole, true)
}

/// A glob: `?` is one character of a name, `*` any, `**` any folders.
fn below(number: u32, root: &[u8], glob: &str) -> Rule {
    let parts: Vec<&str> = glob.split('/').collect();
    let mut text = literal(root);
    for (at, part) in parts.iter().enumerate() {
        match (*part, at + 1 == parts.len()) {
            ("**", true) => text.push_str("/.+"),
            ("**", false) => text.push_str("(?:/[^/]+)*"),
            ("*", _) => text.push_str("/[^/]+"),
            (part, _) => {
                text.push('/');
                for byte in part.bytes() {
                    match byte {
                        b'*' => text.push_str("[^/]*"),
                        b'?' => text.push_str("[^/]"),
                        other => text.push_str(&literal(&[other])),
                    }
                }
            }
        }
    }
    rule(number, &text, false)
}

/// What a git folder has for itself; no part of a submodule's name is one of them.
const OF_A_GIT_FOLDER: [&[u8]; 17] = [
    b"HEAD",
    b"commondir",
    b"config",
    b"config.worktree",
    b"gitdir",
    b"hooks",
    b"index",
    b"info",
    b"lfs",
    b"logs",
    b"objects",
    b"packed-refs",
    b"rebase-apply",
    b"rebase-merge",
    b"refs",
    b"worktrees",
    b".git",
];

/// The files that git reads as configuration, of a repository or of a part of one. Branches may
/// have the same name.
pub fn is_git_configuration(path: &[u8]) -> bool {
    thread_local! {
        static MODULES: Regex = regex(r"/(?i:\.gitmodules)$");
        static GIT: Regex = regex(r"/(?i:\.git)/");
        static TWICE: Regex = regex(r"/(?i:\.git)/(?:.*/)?(?i:\.git)/");
        // Git keeps nothing with a control character in its name.
        static CONTROL: Regex = regex(r"/(?i:\.git)/.*[\x00-\x1f\x7f]");
        static BRANCH: Regex = regex(r"/(?i:\.git)/(?:[^/]+/)*refs/(?:heads|remotes|tags)/");
    }
    let is = |regex: &'static std::thread::LocalKey<Regex>| regex.with(|r| r.is_match(path));
    let Some(below) = GIT.with(|git| git.find(path).map(|found| &path[found.end()..])) else {
        return is(&MODULES);
    };
    let parts: Vec<&[u8]> = below.split(|b| *b == b'/').collect();
    is_configuration(&parts) && ![&BRANCH, &TWICE, &CONTROL].into_iter().any(is)
}

/// The same below a git folder: its own, that of a linked working tree, and that of a submodule, of whose name no part
/// may be what a git folder has for itself.
fn is_configuration(parts: &[&[u8]]) -> bool {
    match parts {
        [b"config" | b"config.worktree"] => true,
        [b"worktrees", _, rest @ ..] => is_configuration(rest),
        [b"modules", rest @ ..] => (1..rest.len()).any(|name| {
            rest[..name]
                .iter()
                .all(|part| !OF_A_GIT_FOLDER.contains(part))
                && is_configuration(&rest[name..])
        }),
        _ => false,
    }
}
