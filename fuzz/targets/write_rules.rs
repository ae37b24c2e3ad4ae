//! What the write broker decides about paths. Lines that begin with `+` are protected, with `-`
//! denied; of the others the first is a path, the second the path that it is moved to, the third
//! what lies in it.
#![no_main]

#[path = "../reference/rules.rs"]
mod reference;

use bailiwick_event::Origin;
use bailiwick_policy::{
    Effective, Environment, FilesystemPolicy, Limits, NetworkPolicy, PathEntry, PathPattern,
};
use bailiwick_process::fuzzing::{Rules, Verdict};
use libfuzzer_sys::fuzz_target;
use std::path::{Path, PathBuf};

const WORKSPACE: &str = "/home/u/ws";

fuzz_target!(|text: &str| {
    let mut files = FilesystemPolicy::default();
    let mut paths = Vec::new();
    for line in text.lines().take(16) {
        let list = match line.chars().next() {
            Some('+') => &mut files.protect,
            Some('-') => &mut files.deny,
            _ => {
                paths.push(line);
                continue;
            }
        };
        let Some(pattern) = pattern(&line[1..]) else {
            return;
        };
        list.push(PathEntry {
            pattern,
            origin: Origin::built_in(),
        });
    }
    let line = |n: usize| paths.get(n).copied().unwrap_or("a");
    let [from, to] = [0, 1].map(|n| whole(line(n)));
    let tail: PathBuf = parts(line(2)).collect();
    if tail.as_os_str().is_empty() {
        return;
    }
    let policy = Effective {
        workspace: WORKSPACE.into(),
        home: "/home/u".into(),
        layers: Vec::new(),
        filesystem: files,
        network: NetworkPolicy::default(),
        environment: Environment::default(),
        limits: Limits::default(),
        capabilities: Vec::new(),
        written: None,
        used: Vec::new(),
        require: Vec::new(),
        rules: Vec::new(),
        ask: Default::default(),
        secrets: Vec::new(),
        rule_locks: Default::default(),
    };
    let rules = Rules::of(&policy);
    let slow = reference::Rules::of(&policy);
    for path in [&from, &to, &from.join(&tail), &to.join(&tail)] {
        assert_eq!(rules.decide(path), slow.decide(path), "{path:?}");
        stays_protected(&rules, path, &tail);
        is_an_exception_for_hooks(&rules, path);
    }
    holds_without_mounts(&policy, &rules, &[&from, &to, &from.join(&tail)]);
    is_seen_above(&rules, &from, &tail);
    is_seen_entering(&rules, &from, &to, &tail);
    is_seen_leaving(&rules, &from, &to, &tail);
});

fn parts(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split('/');
    parts.filter(|part| !["", ".", ".."].contains(part) && !part.contains('\0'))
}

fn whole(text: &str) -> PathBuf {
    let root = if text.starts_with('/') {
        "/"
    } else {
        WORKSPACE
    };
    // `join` would leave a slash at the end of a root that nothing is joined to.
    std::iter::once(root).chain(parts(text)).collect()
}

/// What a policy makes of a text; none for a glob that the reference does not know.
fn pattern(text: &str) -> Option<PathPattern> {
    let wild = |part: &&str| part.contains(['*', '?', '[']);
    let whole = whole(text);
    let whole = whole.to_str()?;
    if !wild(&whole) {
        return Some(PathPattern::Path(whole.into()));
    }
    let odd = |part: &str| part.contains("**") && part != "**";
    if !whole.is_ascii() || whole.contains(['[', ']', '{', '}', '\\', '!']) || parts(whole).any(odd)
    {
        return None;
    }
    let literal = parts(whole).take_while(|part| !wild(part)).count();
    let all: Vec<&str> = parts(whole).collect();
    Some(PathPattern::Glob {
        root: Path::new("/").join(all[..literal].join("/")),
        glob: all[literal..].join("/"),
    })
}

/// Where no mounts keep what exists, the rules keep at least as much, but for what is the sandbox's
/// own; what is closed to readers is closed to writers, by the same entry, and stays so below.
fn holds_without_mounts(policy: &Effective, rules: &Rules, paths: &[&Path]) {
    const OWN: &str = "/home/u/ws/own";
    let bare = Rules::without_mounts(policy, Path::new(OWN));
    let known = Rules::names(policy);
    for path in paths {
        let (write, read) = (bare.decide(path), bare.decide_read(path));
        if path.starts_with(OWN) {
            assert!(!matches!(write, Verdict::Refuse(_)), "{path:?} is its own");
            assert_eq!(read, Verdict::Allow, "{path:?} is its own");
            continue;
        }
        if let Verdict::Refuse(_) = rules.decide(path) {
            assert_ne!(write, Verdict::Allow, "{path:?} is free without mounts");
        }
        if let Verdict::Refuse(rule) = read {
            assert!((rule as usize) < known, "{path:?}: no rule {rule}");
            assert_ne!(
                write,
                Verdict::Allow,
                "{path:?} can be written and not read"
            );
            assert_ne!(
                bare.decide_read(&path.join("x")),
                Verdict::Allow,
                "{path:?}/x"
            );
        }
    }
}

/// What is below a protected name is never free.
fn stays_protected(rules: &Rules, path: &Path, tail: &Path) {
    if !matches!(rules.decide(path), Verdict::Refuse(_)) {
        return;
    }
    let mut below = path.to_path_buf();
    for part in tail {
        below.push(part);
        assert_ne!(rules.decide(&below), Verdict::Allow, "{below:?}");
    }
}

/// Folders and files have the verdict of their path; only the folder for hooks that git makes, and
/// the samples in it, are excepted, and only where the folder above is not protected itself.
fn is_an_exception_for_hooks(rules: &Rules, path: &Path) {
    let (plain, folder, file) = (
        rules.decide(path),
        rules.decide_folder(path),
        rules.decide_file(path),
    );
    let hooks = |path: Option<&Path>| {
        path.is_some_and(|path| {
            path.ends_with("hooks")
                && path.iter().any(|part| part.eq_ignore_ascii_case(".git"))
                && path.parent().map(|above| rules.decide(above)) == Some(Verdict::Allow)
        })
    };
    let excepted = |yes: bool| if yes { Verdict::Allow } else { plain };
    assert_eq!(folder, excepted(hooks(Some(path))), "{path:?}");
    let sample = path.extension().is_some_and(|e| e == "sample");
    let expected = excepted(sample && hooks(path.parent()));
    assert_eq!(file, expected, "{path:?}");
}

/// A folder that a protected name goes through is known to be above it.
fn is_seen_above(rules: &Rules, path: &Path, tail: &Path) {
    let alone = Path::new(WORKSPACE).join(tail);
    let free = |path: &Path| rules.decide(path) == Verdict::Allow;
    let inside = path.starts_with(WORKSPACE);
    // What only a pattern matches is asked for each entry, and has no folder above it.
    let patterns = rules.asks_each_entry(path, path);
    if free(path) && free(&alone) && !free(&path.join(tail)) && inside && !patterns {
        assert!(rules.above(path).is_some(), "{path:?} is above {tail:?}");
    }
}

/// What was free where it was and is protected where it goes is found before it is moved.
fn is_seen_entering(rules: &Rules, from: &Path, to: &Path, tail: &Path) {
    let free = |path: &Path| rules.decide(path) == Verdict::Allow;
    let moved = free(from) && free(to) && !to.starts_with(from) && !from.starts_with(to);
    let becomes = free(&from.join(tail)) && !free(&to.join(tail));
    if !moved || !becomes || rules.asks_each_entry(from, to) {
        return;
    }
    let names: Vec<_> = tail.iter().collect();
    let entering = rules.entering(from, to);
    let found = entering.iter().any(|(_, pattern)| {
        let pattern: Vec<_> = pattern.iter().collect();
        is_begun_by(&pattern, &names)
    });
    assert!(found, "{tail:?} from {from:?} to {to:?}: {entering:?}");
}

/// What is protected where it is and would be free where it goes stays, but for the names that are
/// protected wherever they are, which mounts keep.
fn is_seen_leaving(rules: &Rules, from: &Path, to: &Path, tail: &Path) {
    let free = |path: &Path| rules.decide(path) == Verdict::Allow;
    let moved = free(from) && free(to) && !to.starts_with(from) && !from.starts_with(to);
    let Verdict::Refuse(rule) = rules.decide(&from.join(tail)) else {
        return;
    };
    if moved && !rules.is_control(rule) && free(&to.join(tail)) {
        let stays = rules.leaving(from, to).is_some();
        assert!(stays, "{tail:?} gets from {from:?} to {to:?}");
    }
}

/// Whether names begin with a pattern in which `*` stands for one name or more.
fn is_begun_by(pattern: &[&std::ffi::OsStr], names: &[&std::ffi::OsStr]) -> bool {
    let (Some((first, rest)), Some((name, names))) = (pattern.split_first(), names.split_first())
    else {
        return pattern.is_empty();
    };
    if *first == "*" {
        return is_begun_by(rest, names) || is_begun_by(pattern, names);
    }
    first.eq_ignore_ascii_case(name) && is_begun_by(rest, names)
}
