//! Changes of git's configuration: `M` for a submodule's file or `F`, then the old text, a line
//! `====`, and the new one. Whatever is accepted differs, as git reads it, in nothing but variables
//! of a list that is kept here.
//!
//! With `BAILIWICK_FUZZ_GIT=1` the reader that stands for git is itself compared with `git config
//! --list`; that starts a process each time.
#![no_main]

#[path = "../reference/git_config.rs"]
mod git_config;

use bailiwick_process::fuzzing::accept_git;
use git_config::Variable;
use libfuzzer_sys::fuzz_target;
use std::io::Write;
use std::process::{Command, Stdio};

/// What may change: the section, whether it has a subsection, the name.
const ALLOWED: [(&str, bool, &str); 35] = [
    ("core", false, "bare"),
    ("core", false, "filemode"),
    ("core", false, "ignorecase"),
    ("core", false, "logallrefupdates"),
    ("core", false, "precomposeunicode"),
    ("core", false, "repositoryformatversion"),
    ("core", false, "sharedrepository"),
    ("core", false, "symlinks"),
    ("extensions", false, "objectformat"),
    ("extensions", false, "partialclone"),
    ("extensions", false, "refstorage"),
    ("extensions", false, "worktreeconfig"),
    ("user", false, "name"),
    ("user", false, "email"),
    ("branch", true, "remote"),
    ("branch", true, "merge"),
    ("branch", true, "rebase"),
    ("branch", true, "description"),
    ("branch", true, "pushremote"),
    ("branch", true, "vscode-merge-base"),
    ("remote", true, "url"),
    ("remote", true, "pushurl"),
    ("remote", true, "fetch"),
    ("remote", true, "push"),
    ("remote", true, "tagopt"),
    ("remote", true, "prune"),
    ("remote", true, "promisor"),
    ("remote", true, "partialclonefilter"),
    ("submodule", true, "url"),
    ("submodule", true, "active"),
    ("submodule", true, "path"),
    ("submodule", true, "branch"),
    ("submodule", true, "update"),
    ("submodule", true, "ignore"),
    ("submodule", true, "shallow"),
];

fuzz_target!(|data: &[u8]| {
    let Some((kind, text)) = data.split_first() else {
        return;
    };
    let line = b"\n====\n";
    let at = text.windows(line.len()).position(|w| w == line);
    let (old, new) = match at {
        Some(at) => (&text[..=at], &text[at + line.len()..]),
        None => (&b""[..], text),
    };
    let module = *kind == b'M';
    if std::env::var_os("BAILIWICK_FUZZ_GIT").is_some()
        && let Some(listed) = listed(new)
    {
        assert_eq!(git_config::parse(new), Some(listed), "not git's reading");
    }
    let accepted = accept_git(old, new, module);
    if old == new && accepted.is_err() {
        let reason = accepted.as_ref().expect_err("refused");
        assert!(reason.contains("cannot be read"), "{reason}");
    }
    if accepted.is_err() {
        return;
    }
    let after = git_config::parse(new).expect("accepted, but git cannot read it");
    let before = git_config::parse(old).unwrap_or_default();
    let of = |all: &[Variable], name: &[u8]| -> Vec<Option<Vec<u8>>> {
        let of = all.iter().filter(|(n, _)| n == name);
        of.map(|(_, value)| value.clone()).collect()
    };
    for (name, _) in before.iter().chain(&after) {
        let (old, new) = (of(&before, name), of(&after, name));
        if old != new && !is_same_to_git(&old, &new) {
            let shown = String::from_utf8_lossy(name);
            assert!(may_change(name, module), "{shown} was changed");
            for value in new.iter().flatten() {
                let text = String::from_utf8_lossy(value);
                assert!(is_harmless(name, value), "{shown} became {text:?}");
            }
        }
    }
});

/// `key` and `key = true` mean the same; versions of git differ in the white space that they keep.
fn is_same_to_git(old: &[Option<Vec<u8>>], new: &[Option<Vec<u8>>]) -> bool {
    let bare = |values: &[Option<Vec<u8>>]| -> Vec<Vec<u8>> {
        let bare = |value: &Option<Vec<u8>>| {
            let value = value.as_deref().unwrap_or(b"true");
            value
                .iter()
                .copied()
                .filter(|b| !b.is_ascii_whitespace())
                .collect()
        };
        values.iter().map(bare).collect()
    };
    bare(old) == bare(new)
}

/// Section, subsection and name.
fn split(variable: &[u8]) -> (&[u8], Option<&[u8]>, &[u8]) {
    let first = variable.iter().position(|b| *b == b'.').unwrap_or(0);
    let last = variable.iter().rposition(|b| *b == b'.').unwrap_or(0);
    let sub = (first < last).then(|| &variable[first + 1..last]);
    (&variable[..first], sub, &variable[last + 1..])
}

fn may_change(variable: &[u8], module: bool) -> bool {
    let (section, sub, name) = split(variable);
    let is = |(s, has_sub, n): &(&str, bool, &str)| {
        s.as_bytes() == section && *has_sub == sub.is_some() && n.as_bytes() == name
    };
    ALLOWED.iter().any(is)
        || variable == b"submodule.active"
        || module && variable == b"core.worktree"
}

fn is_harmless(variable: &[u8], value: &[u8]) -> bool {
    let (section, _, name) = split(variable);
    let has = |part: &[u8]| value.windows(part.len()).any(|w| w == part);
    let may_be_address = matches!(
        (section, name),
        (b"remote" | b"submodule", b"url" | b"pushurl")
            | (b"branch", b"remote" | b"pushremote")
            | (b"extensions", b"partialclone")
    );
    if may_be_address {
        let after = value.windows(3).position(|w| w == b"://");
        let host = after.map_or(value, |at| &value[at + 3..]);
        let dash = value.starts_with(b"-") || host.starts_with(b"-");
        return !dash && !has(b"::") && !value.iter().any(u8::is_ascii_control);
    }
    match (section, name) {
        (b"submodule", b"update") => !value.starts_with(b"!"),
        (b"submodule", b"path") => {
            !value.starts_with(b"/")
                && !value.starts_with(b"-")
                && value.split(|b| *b == b'/').all(|part| part != b"..")
        }
        (b"core", b"worktree") => {
            let mut parts = value
                .split(|b| *b == b'/')
                .filter(|part| !part.is_empty() && *part != b".");
            !value.starts_with(b"/") && parts.next() == Some(b"..") && !has(b"\\")
        }
        _ => true,
    }
}

/// What git itself reads.
fn listed(text: &[u8]) -> Option<Vec<Variable>> {
    let mut git = Command::new("git")
        .args(["config", "--no-includes", "--null", "--list"])
        .args(["--file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("git is installed");
    let mut input = git.stdin.take().expect("an input");
    let _ = input.write_all(text);
    drop(input);
    let output = git.wait_with_output().expect("git ends");
    let entries = output.stdout.split(|b| *b == 0);
    let entries = entries.filter(|entry| !entry.is_empty());
    let variable = |entry: &[u8]| {
        let end = entry.iter().position(|b| *b == b'\n');
        match end {
            Some(at) => (entry[..at].to_vec(), Some(entry[at + 1..].to_vec())),
            None => (entry.to_vec(), None),
        }
    };
    // A NUL, or a newline in a name, makes the list ambiguous.
    let clear = !text.contains(&0);
    (output.status.success() && clear).then(|| entries.map(variable).collect())
}
