//! Policy files. Every mistake stands somewhere in the file; what is loaded, recorded and shown
//! reads back as the same policy.
#![no_main]

use bailiwick_policy::fuzzing::{check, load};
use bailiwick_policy::{Diagnostic, Effective, PathEntry, PolicyError, Sourced, render_show};
use libfuzzer_sys::fuzz_target;
use std::fmt::Debug;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let checked = check(text);
    match &checked {
        Ok(warnings) => are_in(text, warnings),
        Err(found) => {
            assert!(!found.is_empty(), "refused without a reason");
            are_in(text, found);
        }
    }
    let Some(loaded) = load(text) else { return };
    let loaded = match (loaded, checked) {
        (Ok(loaded), Ok(_)) => loaded,
        (Ok(_), Err(found)) => panic!("loaded in spite of {found:?}"),
        (Err(PolicyError::Invalid(found)), _) => return are_in(text, &found),
        (Err(error), _) => panic!("not about the file: {error}"),
    };
    let effective = &loaded.effective;
    let lock = effective.to_lock();
    let mut back = Effective::from_lock(&lock).unwrap_or_else(|e| panic!("{e}\n{lock}"));
    // Where the product's own lists are is none of the policy.
    back.written.clone_from(&effective.written);
    assert_eq!(&back, effective, "{lock}");
    assert_eq!((back.to_lock(), back.hash()), (lock, effective.hash()));

    let shown = render_show(&loaded);
    let control = shown.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(control, None, "{shown:?}");
    let again = load(&shown).expect("what is shown asks for nothing of the machine");
    match again {
        Ok(again) => assert_eq!(values(&again.effective), values(effective), "{shown}"),
        // Of several layers that contradict each other the shown text is one file; it is told so.
        Err(PolicyError::Invalid(found))
            if text.contains("extends") && found.iter().all(is_contradiction) => {}
        Err(error) => panic!("{error}\n{shown}"),
    }
});

fn is_contradiction(found: &Diagnostic) -> bool {
    found.help == "remove one of the two"
}

/// Every finding has a place in the text and shows nothing that a terminal obeys.
fn are_in(text: &str, found: &[Diagnostic]) {
    let lines: Vec<&str> = text.split('\n').collect();
    for diagnostic in found {
        let (span, origin) = (diagnostic.span(), diagnostic.origin());
        assert!(span.start <= span.end && span.end <= text.len());
        assert_eq!(&*origin.file, "fuzz.toml");
        let line = usize::try_from(origin.line).expect("a line");
        assert!((1..=lines.len()).contains(&line), "line {line}");
        let width = lines[line - 1].chars().count();
        let column = usize::try_from(origin.column).expect("a column");
        assert!((1..=width + 1).contains(&column), "{line}:{column}");
        let shown = diagnostic.to_string();
        let control = shown.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(control, None, "{shown:?}");
        assert!(shown.starts_with(&format!("fuzz.toml:{line}:{column}: ")));
    }
}

/// Everything but the lines. What the product adds itself stands last, and is shown like the rest.
fn values(effective: &Effective) -> Vec<String> {
    let files = &effective.filesystem;
    let mut all = Vec::new();
    let mut paths = |name: &str, entries: &[PathEntry]| {
        all.extend(entries.iter().map(|e| format!("{name} {:?}", e.pattern)));
    };
    paths("read", &files.read);
    paths("write", &files.write);
    paths("private", &files.private);
    paths("deny", &files.deny);
    paths("protect", &files.protect);
    all.push(format!("absent {:?}", files.protect_absent()));
    list("allow", &effective.network.allow, &mut all);
    list("deny", &effective.network.deny, &mut all);
    list("http", &effective.network.http, &mut all);
    list("hosts", &effective.network.hosts, &mut all);
    list("publish", &effective.network.publish, &mut all);
    list("pass", &effective.environment.pass, &mut all);
    for (name, value) in &effective.environment.set {
        all.push(format!("set {name} {:?}", value.value));
    }
    let limits = &effective.limits;
    list("memory", limits.memory.as_slice(), &mut all);
    list("processes", limits.processes.as_slice(), &mut all);
    list("cpu", limits.cpu.as_slice(), &mut all);
    list("wall", limits.wall.as_slice(), &mut all);
    list("file_size", limits.file_size.as_slice(), &mut all);
    list("open_files", limits.open_files.as_slice(), &mut all);
    list("disk", limits.disk.as_slice(), &mut all);
    all
}

fn list<T: Debug>(name: &str, entries: &[Sourced<T>], all: &mut Vec<String>) {
    all.extend(entries.iter().map(|e| format!("{name} {:?}", e.value)));
}
