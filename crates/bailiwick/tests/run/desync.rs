//! No request reaches a server that was not decided, however its bytes are cut: a corpus of requests
//! that some pair of programs reads in two ways, in the clear and within TLS.

use crate::support::{Backend, Outcome, RawOrigin};
use bailiwick_event::{Act, Verdict};
use std::collections::BTreeMap;

const ROWS: &str = include_str!("desync/rows.tsv");
const CLIENT: &str = include_str!("desync/client.py");
const NEVER: &str = "[[rules]]\nid = \"never\"\non = \"http.request\"\naction = \"deny\"\n\
    when = 'http.request.path.startsWith(\"/no/\")'\n";

/// The rows: name, statuses, requests that the server may have seen.
fn rows() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let rows = ROWS
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    rows.map(|row| {
        let parts: Vec<_> = row.split('\t').collect();
        let [name, statuses, sent, _] = parts[..] else {
            panic!("{row}");
        };
        let sent = sent.split(", ").filter(|sent| *sent != "-").collect();
        (name, statuses, sent)
    })
    .collect()
}

/// How often each request was allowed.
fn allowed(outcome: &Outcome) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for event in outcome.events() {
        if let (Act::Http { method, path, .. }, Verdict::Allow) =
            (&event.act, event.decision.verdict)
        {
            *all.entry(format!("{method} {path}")).or_default() += 1;
        }
    }
    all
}

#[track_caller]
fn no_row_gets_through(kind: &str) {
    let origin = RawOrigin::start(&["a.test"], &[]);
    let port = match kind {
        "tls" => origin.secure,
        _ => origin.plain,
    };
    let outcome = origin
        .sandbox(
            Backend::Process,
            &format!("\"a.test\" = \"127.0.0.1:{port}\""),
            NEVER,
        )
        .file("client.py", CLIENT)
        .file("rows.tsv", ROWS)
        .exec(["python3", "client.py", kind, "a.test", "rows.tsv"]);
    outcome.success();
    let seen = origin.requests();
    let bad: Vec<_> = seen.iter().filter(|line| line.starts_with("BAD")).collect();
    assert!(bad.is_empty(), "{bad:?}");
    let mut allowed = allowed(&outcome);
    for request in &seen {
        let left = allowed.get_mut(request).filter(|left| **left > 0);
        let left = left.unwrap_or_else(|| panic!("{request} was not decided; {seen:?}"));
        *left -= 1;
    }
    let said = outcome.stdout();
    let said: BTreeMap<_, _> = said.lines().filter_map(|l| l.split_once('\t')).collect();
    let mut expected: Vec<&str> = Vec::new();
    let mut wrong = Vec::new();
    for (name, statuses, sent) in rows() {
        if !statuses.split('/').any(|s| said.get(name) == Some(&s)) {
            wrong.push(format!(
                "{name}: {:?} instead of {statuses}",
                said.get(name)
            ));
        }
        expected.extend(sent);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let strange: Vec<_> = seen
        .iter()
        .filter(|s| !expected.contains(&s.as_str()))
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
}

#[test]
fn in_the_clear_the_server_sees_what_was_decided_and_nothing_else() {
    no_row_gets_through("plain");
}

#[test]
fn within_tls_the_server_sees_what_was_decided_and_nothing_else() {
    no_row_gets_through("tls");
}
