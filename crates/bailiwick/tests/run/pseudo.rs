//! Games with the pseudo-headers of HTTP/2: whatever a head says, the server is asked for what was
//! decided, and for nothing else.

use crate::support::{Authority, Program, Sandbox, Scratch};
use bailiwick_event::{Act, Verdict};
use std::time::Duration;

const ROWS: &str = include_str!("pseudo/rows.tsv");
const CLIENT: &str = include_str!("pseudo/client.py");
const NEVER: &str = "[[rules]]\nid = \"never\"\non = \"http.request\"\naction = \"deny\"\n\
    when = 'http.request.path.startsWith(\"/no/\")'\n";
/// The system's: its packages are what the set-up installs.
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn no_head_of_http2_asks_a_server_for_what_was_not_decided() {
    let scratch = Scratch::new();
    let authority = Authority::new(&scratch, &["a.test"]);
    let log = scratch.write("seen", "");
    let (origin, [port]) = Program::start(
        PYTHON,
        &scratch,
        ("origin.py", include_str!("pseudo/origin.py")),
        [&authority.leaf, &authority.key, &log],
    );
    let outcome = Sandbox::new()
        .within(Duration::from_secs(300))
        .policy(&format!(
            "extends = [\"default\"]\n[network]\ninspect = \"always\"\nroots = [{:?}]\n\
             [network.hosts]\n\"a.test\" = \"127.0.0.1:{}\"\n{NEVER}",
            authority.certificate, port
        ))
        .file("client.py", CLIENT)
        .file("rows.tsv", ROWS)
        .exec([PYTHON, "client.py", "a.test", "rows.tsv"]);
    outcome.success();
    let said = outcome.stdout();
    let mut wrong = Vec::new();
    let mut may_see: Vec<String> = Vec::new();
    let rows = ROWS
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with('#'));
    let mut answers = said.lines();
    for row in rows {
        let parts: Vec<_> = row.split('\t').collect();
        let came = answers.next().unwrap_or_default();
        let expected: Vec<_> = parts[1].split('/').collect();
        let (name, what) = came.split_once('\t').unwrap_or_default();
        if name != parts[0] || !expected.contains(&what) {
            wrong.push(format!("{}: {came}, not {expected:?}", parts[0]));
        }
        let sees = parts[2].replace("{HOST}", "a.test");
        may_see.extend(sees.split(", ").map(str::to_owned));
    }
    let seen = std::fs::read_to_string(&log).unwrap();
    drop(origin);
    wrong.extend(
        seen.lines()
            .filter(|line| !may_see.iter().any(|may| may == line))
            .map(|line| format!("the server saw: {line}")),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Each is a row, with what the server was told.
    let mut allowed: Vec<String> = outcome
        .events()
        .into_iter()
        .filter(|event| event.decision.verdict == Verdict::Allow)
        .filter_map(|event| match event.act {
            Act::Http { method, path, .. } => Some(format!("{method} {path}")),
            _ => None,
        })
        .collect();
    for line in seen.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let request = format!("{} {}", words[0], words[3]);
        let at = allowed.iter().position(|row| *row == request);
        let at = at.unwrap_or_else(|| panic!("{request} has no row"));
        allowed.swap_remove(at);
    }
    assert!(seen.lines().count() >= 5, "{seen}");
}
