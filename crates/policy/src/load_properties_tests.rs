//! The claim that trust rests on: whatever an untrusted project writes, nothing that was out of
//! reach before comes into reach.

use crate::fixture::Machine;
use crate::{Access, Loaded, network};
use bailiwick_event::Host;
use proptest::prelude::*;
use std::path::PathBuf;

const PATHS: [&str; 8] = [
    "/usr", "/srv", "~", "~/.ssh", "~/data", ".", "src", "**/.env",
];
const HOSTS: [&str; 7] = [
    "*",
    "*.test",
    "a.test",
    "a.test:22",
    "10.0.0.0/8:*",
    "localhost:5",
    "b.test:*",
];

/// A small policy in which every list and number may or may not stand.
fn some_policy() -> impl Strategy<Value = String> {
    let paths = || prop::sample::subsequence(PATHS.to_vec(), 0..4);
    let hosts = || prop::sample::subsequence(HOSTS.to_vec(), 0..3);
    let limits = (prop::option::of(1u32..5), prop::option::of(1u32..5));
    (paths(), paths(), paths(), hosts(), hosts(), hosts(), limits).prop_map(
        |(read, write, private, allow, deny, http, (processes, wall))| {
            let mut text = format!(
                "[filesystem]\nread = {read:?}\nwrite = {write:?}\nprivate = {private:?}\n"
            );
            text.push_str(&format!(
                "[network]\nallow = {allow:?}\npublish = [\"3000\"]\n"
            ));
            let rules: Vec<_> = http
                .iter()
                .map(|h| format!("{{ host = \"{h}\" }}"))
                .collect();
            text.push_str(&format!("http = [{}]\n", rules.join(", ")));
            if allow.iter().chain(&http).all(|a| !deny.contains(a)) && !deny.contains(&"*") {
                text.push_str(&format!("deny = {deny:?}\n"));
            }
            text.push_str("[environment]\npass = [\"X\"]\nset = { Y = \"1\" }\n[limits]\n");
            text.push_str(&processes.map_or_else(String::new, |p| format!("processes = {p}\n")));
            text + &wall.map_or_else(String::new, |w| format!("wall = \"{w}s\"\n"))
        },
    )
}

fn rank(access: Access) -> (bool, bool) {
    match access {
        Access::Hidden | Access::Denied => (false, false),
        Access::Read | Access::Protected => (true, false),
        _ => (true, true),
    }
}

fn not_wider(before: &Loaded, after: &Loaded) -> Result<(), TestCaseError> {
    let home = &before.effective.home;
    let paths = ["/usr/x", "/srv/x", "/etc/passwd", "/other"].map(PathBuf::from);
    let below = [
        ".ssh/id",
        "data/x",
        "notes",
        "project/src/x",
        "project/.env",
        "project/x",
    ]
    .map(|p| home.join(p));
    for path in paths.iter().chain(&below) {
        let old = rank(before.effective.explain_path(path).access);
        let new = rank(after.effective.explain_path(path).access);
        prop_assert!(
            new.0 <= old.0 && new.1 <= old.1,
            "{:?}: {:?} became {:?}",
            path,
            old,
            new
        );
    }
    for host in [
        "a.test",
        "b.test",
        "c.test",
        "localhost",
        "10.0.0.1",
        "example.org",
    ] {
        let host = Host::parse(host).unwrap();
        for port in [5, 22, 80, 443] {
            let old = network::decide_host(&before.effective.network, &host, port);
            let new = network::decide_host(&after.effective.network, &host, port);
            prop_assert!(old.is_allow() || !new.is_allow(), "{}:{}", host, port);
            prop_assert!(
                new.http_only || !old.http_only || !new.is_allow(),
                "{}:{} lost its rules",
                host,
                port
            );
        }
    }
    let (old, new) = (&before.effective, &after.effective);
    prop_assert!(
        new.network
            .publish
            .iter()
            .all(|p| old.network.publish.contains(p))
    );
    prop_assert_eq!(&new.environment, &old.environment);
    if let Some(limit) = &old.limits.processes {
        prop_assert!(
            new.limits
                .processes
                .as_ref()
                .is_some_and(|n| n.value <= limit.value)
        );
    }
    if let Some(limit) = &old.limits.wall {
        prop_assert!(
            new.limits
                .wall
                .as_ref()
                .is_some_and(|n| n.value <= limit.value)
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn an_untrusted_project_never_brings_anything_into_reach(
        base in some_policy(), user in prop::option::of(some_policy()), project in some_policy(),
    ) {
        let mut machine = Machine::new().file("~/base.toml", &base).policy("~/base.toml");
        if let Some(user) = &user {
            machine = machine.user(user);
        }
        // A file that contradicts itself is refused as a whole; that is another test's matter.
        let Ok(before) = machine.try_load() else { return Ok(()) };
        let machine = machine.project(&project);
        let Ok(after) = machine.try_load() else { return Ok(()) };
        not_wider(&before, &after)?;
    }
}
