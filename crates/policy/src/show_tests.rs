use super::*;
use crate::fixture::Machine;
use crate::{Effective, load};

#[test]
fn what_is_shown_can_be_loaded_and_means_the_same() {
    let machine = Machine::new().user(
        "[filesystem]\nread = [\"/srv/a*b\", \"/opt/x\"]\n[network]\nallow = [\"a.test:*\", \"[::1]:80\"]\ndeny = [\"b.test\"]\npublish = [\"3000:80\"]\n\
         http = [{ host = \"c.test:80\", methods = [\"GET\"], paths = [\"/v1/**\"] }]\nhosts = { \"m.test\" = \"127.0.0.1:1\" }\n\
         [environment]\nset = { X = \"a\\u001b\\\"b\" }\n[limits]\ncpu = 0.5\nwall = \"90s\"\nmemory = \"1GiB\"\n",
    );
    let first = machine.load();
    let shown = render_show(&first);
    assert!(
        shown.contains("\"a.test:*\",") && shown.contains("# ~/.config/bailiwick/policy.toml:4:10"),
        "{shown}"
    );
    assert!(
        !shown.chars().any(|c| c.is_control() && c != '\n'),
        "{shown:?}"
    );
    let mut again = machine.file("~/shown.toml", &shown).policy("~/shown.toml");
    again.request.user_file = again.root().join("none/policy.toml");
    let second = load(&again.request).unwrap_or_else(|e| panic!("{e}\n{shown}"));
    assert_eq!(values(&second.effective), values(&first.effective));
}

#[test]
fn a_project_that_is_not_trusted_is_named_and_the_templates_that_it_extends_are_not() {
    let machine = Machine::new().project("extends = [\"read-only\"]");
    let shown = render_show(&machine.load());
    let named: Vec<&str> = shown
        .lines()
        .filter(|line| line.contains("not trusted"))
        .collect();
    assert_eq!(
        named,
        ["# not trusted, so it and what it extends only narrow: ./bailiwick.toml"]
    );
}

/// Everything but the lines.
fn values(e: &Effective) -> impl PartialEq + std::fmt::Debug {
    let paths = |l: &[PathEntry]| {
        let mut texts: Vec<String> = l
            .iter()
            .filter(|e| e.origin.file.as_ref() != "built-in")
            .map(path)
            // The product's own folders are built in, and stand in the file that is shown.
            .filter(|path| !path.ends_with("/bailiwick"))
            .collect();
        texts.sort();
        texts
    };
    let f = &e.filesystem;
    let n = &e.network;
    let l = &e.limits;
    (
        [
            paths(&f.read),
            paths(&f.write),
            paths(&f.private),
            paths(&f.deny),
            paths(&f.protect),
        ],
        (
            texts(&n.allow, ToString::to_string)
                .into_iter()
                .map(|t| t.0)
                .collect::<Vec<_>>(),
            n.http.iter().map(|r| http(&r.value)).collect::<Vec<_>>(),
        ),
        (
            n.hosts.iter().map(|h| h.value.clone()).collect::<Vec<_>>(),
            n.publish
                .iter()
                .map(|h| h.value.clone())
                .collect::<Vec<_>>(),
        ),
        (
            e.environment
                .pass
                .iter()
                .map(|p| p.value.clone())
                .collect::<Vec<_>>(),
            e.environment
                .set
                .iter()
                .map(|(k, v)| (k.clone(), v.value.clone()))
                .collect::<Vec<_>>(),
        ),
        (
            l.cpu.as_ref().map(|v| v.value),
            l.wall.as_ref().map(|v| v.value),
            l.memory.as_ref().map(|v| v.value),
            l.processes.as_ref().map(|v| v.value),
        ),
    )
}

#[test]
fn the_lock_text_reads_back_and_the_hash_follows_every_change() {
    let machine = Machine::new().user(
        "[network]\nallow = [\"a.test\"]\n[limits]\nwall = \"90s\"\n[environment.set]\nX = \"1\"",
    );
    let loaded = machine.load();
    let text = loaded.effective.to_lock();
    let recorded = Effective {
        written: None,
        used: Vec::new(),
        ..loaded.effective.clone()
    };
    assert_eq!(Effective::from_lock(&text), Ok(recorded));
    assert_eq!(loaded.effective.hash(), machine.load().effective.hash());
    let other = machine.user("[network]\nallow = [\"b.test\"]\n[limits]\nwall = \"90s\"\n[environment.set]\nX = \"1\"").load();
    assert_ne!(loaded.effective.hash(), other.effective.hash());
}
