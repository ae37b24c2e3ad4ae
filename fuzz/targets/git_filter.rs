//! Changes of git's configuration: `M` for a submodule's file or `F`, then the old text, a line
//! `====`, and the new one. Whatever is accepted differs, as git reads it, in nothing that
//! executes, connects, reads or writes elsewhere, or weakens a check (`reference/git_harm.rs`).
//!
//! With `BAILIWICK_FUZZ_GIT=1` the reader that stands for git is itself compared with `git config
//! --list`; that starts a process each time.
#![no_main]

#[path = "../reference/git_config.rs"]
mod git_config;
#[path = "../reference/git_harm.rs"]
mod git_harm;

use bailiwick_process::fuzzing::accept_git;
use git_config::Variable;
use git_harm::Change;
use libfuzzer_sys::fuzz_target;
use std::io::Write;
use std::process::{Command, Stdio};

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
    let change = Change {
        before: &before,
        after: &after,
        module,
    };
    for (name, _) in before.iter().chain(&after) {
        let (old, new) = (of(&before, name), of(&after, name));
        if is_same_to_git(&old, &new) {
            continue;
        }
        let values: Vec<Vec<u8>> = new
            .into_iter()
            .map(|value| value.unwrap_or_else(|| b"true".to_vec()))
            .collect();
        if let Some(reason) = change.harm(name, &values) {
            let name = String::from_utf8_lossy(name);
            let texts: Vec<_> = values.iter().map(|v| String::from_utf8_lossy(v)).collect();
            panic!("{name} became {texts:?}: {reason}");
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
