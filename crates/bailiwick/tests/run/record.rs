//! What was tried is in the record, unharmed and harmless.

use crate::support::{Backend, Sandbox};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

on_every_backend! {
    the_log_says_what_was_tried_what_was_refused_and_what_to_do,
    the_last_line_names_the_rule_and_where_to_read_on,
    refusals_are_shown_as_they_happen_if_asked_for,
    sessions_are_listed_shown_and_removed,
    hostile_words_reach_the_record_and_no_terminal,
    hostile_names_on_the_network_are_recorded_and_shown_harmless,
}

fn the_log_says_what_was_tried_what_was_refused_and_what_to_do(on: Backend) {
    let sandbox = Sandbox::on(on);
    sandbox
        .run("getent hosts nowhere.test; true")
        .refused_by("network.default");
    sandbox
        .bailiwick(["log"])
        .success()
        .stdout_has("file reads: enforced, not recorded")
        .stdout_has("nowhere.test")
        .stdout_has("network.default")
        .stdout_has("exit 0");
    let denied = sandbox.bailiwick(["log", "--denied", "--boundary", "dns", "--json"]);
    assert!(denied.success().stdout().lines().count() >= 1);
    let event: serde_json::Value =
        serde_json::from_str(denied.stdout().lines().next().unwrap()).unwrap();
    sandbox
        .bailiwick(["why", &event["id"].to_string()])
        .success()
        .stdout_has("nowhere.test")
        .stdout_has("remedy:");
    sandbox
        .bailiwick(["why", "999"])
        .code(2)
        .stderr_has("no row 999");
    sandbox.bailiwick(["log", "verify"]).success();
    sandbox
        .bailiwick(["log", "--boundary", "nonsense"])
        .code(2)
        .stderr_has("dns");
}

fn the_last_line_names_the_rule_and_where_to_read_on(on: Backend) {
    let outcome = Sandbox::on(on)
        .policy("extends = [\"default\"]\n[network]\nallow = [\"a.test\"]\n")
        .run("getent hosts b.test; true");
    let stderr = outcome.success().stderr();
    let last = stderr.lines().last().unwrap();
    assert!(
        last.contains("network.default") && last.contains("policy-1.toml:3:"),
        "{last}"
    );
    assert!(last.contains("bailiwick log --denied"), "{last}");
}

fn refusals_are_shown_as_they_happen_if_asked_for(on: Backend) {
    let outcome = Sandbox::on(on)
        .option("--monitor")
        .run("getent hosts b.test; echo after >&2");
    let stderr = outcome.stderr();
    let (refused, after) = (stderr.find("refused dns b.test"), stderr.find("after"));
    assert!(refused.is_some() && refused < after, "{stderr}");
}

fn sessions_are_listed_shown_and_removed(on: Backend) {
    let sandbox = Sandbox::on(on).option("--name").option("mine");
    sandbox.run("exit 4");
    sandbox
        .bailiwick(["sessions", "list"])
        .success()
        .stdout_has("mine")
        .stdout_has("exit 4");
    let shown = sandbox.bailiwick(["sessions", "show", "mine"]);
    let workspace = sandbox.workspace();
    shown
        .success()
        .stdout_has(&format!("write      {}", workspace.display()))
        .stdout_has("network    nothing")
        .stdout_has("--policy` prints all of it");
    assert!(shown.stdout().lines().count() < 25, "{}", shown.stdout());
    let all = sandbox.bailiwick(["sessions", "show", "mine", "--policy"]);
    let all = all.success().stdout();
    assert!(
        bailiwick_policy::Effective::from_lock(&all).is_ok(),
        "{all}"
    );
    sandbox.bailiwick(["sessions", "rm", "mine"]).success();
    sandbox.bailiwick(["sessions", "show", "mine"]).code(2);
    sandbox.bailiwick(["sessions", "rm", "../../etc"]).code(2);
}

fn hostile_words_reach_the_record_and_no_terminal(on: Backend) {
    let sandbox = Sandbox::on(on);
    let hostile: Vec<Vec<u8>> = vec![
        b"new\nline".to_vec(),
        b"quote\"'`$(x)".to_vec(),
        b"\x1b[2J\x1b]0;owned\x07\x9b31m".to_vec(),
        "\u{7f}\u{9b}31m\u{2028}\u{feff}\u{e0041}".into(),
        "bidi\u{202e}txt\u{2066}\u{61c}\u{200f}".into(),
        vec![0xff, 0xfe, b'x'],
        vec![b'a'; 4096],
    ];
    let words = hostile.iter().map(|w| OsString::from_vec(w.clone()));
    sandbox
        .exec(std::iter::once(OsString::from("true")).chain(words))
        .success();
    let shown = sandbox.bailiwick(["log"]).success().stdout();
    assert!(
        shown.chars().all(|c| c == '\n' || !c.is_control()),
        "{shown:?}"
    );
    assert!(!shown.contains('\u{202e}'));
    let session = &sandbox.scratch().sessions()[0];
    let exported: [&[&str]; 4] = [
        &["log", "--json"],
        &["sessions", "list", "--json"],
        &["rules", "export", session],
        &["log", "--har"],
    ];
    for words in exported {
        let text = sandbox.bailiwick(words).success().stdout();
        let raw = |c: char| c != '\n' && !bailiwick_event::harmless(c);
        assert!(!text.contains(raw), "{words:?} {text:?}");
    }
    let json = sandbox.bailiwick(["log", "--json"]).success().stdout();
    let argv = json
        .lines()
        .map(|line| serde_json::from_str::<bailiwick_event::Event>(line).unwrap())
        .find_map(|event| match event.act {
            bailiwick_event::Act::ExecStart { argv, .. } => Some(argv),
            _ => None,
        })
        .unwrap();
    let recorded: Vec<_> = argv[1..].iter().map(|w| w.as_bytes().to_vec()).collect();
    assert_eq!(recorded, hostile);
}

fn hostile_names_on_the_network_are_recorded_and_shown_harmless(on: Backend) {
    let sandbox = Sandbox::on(on);
    let script = r#"
import socket, os
def ask(name):
    question = b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00'
    for label in name: question += bytes([len(label)]) + label
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(60)
    s.sendto(question + b'\x00\x00\x01\x00\x01', ('8.8.8.8', 53))
    try: s.recv(512)
    except TimeoutError: pass
ask([b'\x1b[31mred', b'new\nline', b'\xff\xfe', b'x' * 63])
s = socket.create_connection(('93.184.216.34', 80))
s.sendall(b'GET /\x1b[2J HTTP/1.1\r\nHost: ev\x1bil\r\n\r\n')
s.recv(1000)
s = socket.create_connection(('93.184.216.34', 80))
s.sendall(b'GET /' + b'p' * 4096 + b' HTTP/1.1\r\nHost: long.test\r\n\r\n')
s.recv(1000)
"#;
    sandbox.exec(["python3", "-c", script]).success();
    let shown = sandbox.bailiwick(["log"]).success().stdout();
    assert!(
        shown.chars().all(|c| c == '\n' || !c.is_control()),
        "{shown:?}"
    );
    assert!(shown.contains("\\u{1b}[31mred"), "{shown}");
    sandbox.bailiwick(["log", "verify"]).success();
}

#[test]
fn a_list_of_sessions_has_the_newest_and_says_how_many_are_older() {
    let sandbox = Sandbox::new();
    for code in 1..=3 {
        sandbox.run(&format!("exit {code}"));
    }
    let list = |words: &[&str]| {
        let words = ["sessions", "list"].iter().chain(words);
        sandbox.bailiwick(words).success().stdout().to_owned()
    };
    let newest = list(&["--limit", "2"]);
    assert!(
        !newest.contains("exit 1") && newest.contains("exit 2") && newest.contains("exit 3"),
        "{newest}"
    );
    assert!(
        newest.ends_with("1 older; `bailiwick sessions list --limit 3` shows them all\n"),
        "{newest}"
    );
    assert!(list(&[]).contains("exit 1") && !list(&[]).contains("older"));
    assert_eq!(list(&["--json"]).lines().count(), 3);
    assert_eq!(list(&["--json", "--limit", "1"]).lines().count(), 1);
    // More than a screen has.
    let sessions = sandbox.scratch().state().join("bailiwick/sessions");
    for number in 0..60 {
        let name = format!("20200101-000000-{number:06x}");
        std::fs::create_dir(sessions.join(name)).unwrap();
    }
    let newest = list(&[]);
    assert!(
        newest.contains("exit 1") && newest.contains("13 older"),
        "{newest}"
    );
    assert_eq!(list(&["--json"]).lines().count(), 63);
}

#[test]
fn requests_are_exported_as_har() {
    let host = crate::network::Host::start();
    let port = host.port;
    let sandbox = Sandbox::new().policy(&format!(
        "extends = [\"default\"]\n[network.hosts]\n\"a.test\" = \"127.0.0.1:{port}\"\n\
         [[rules]]\nid = \"no\"\non = \"http.request\"\naction = \"deny\"\n\
         when = 'http.request.path == \"/no\"'\n"
    ));
    sandbox
        .run("curl -s 'http://a.test/x?a=1&b'; curl -s http://a.test/no")
        .success();
    let outcome = sandbox.bailiwick(["log", "--har"]);
    outcome.success();
    let har: serde_json::Value = serde_json::from_str(&outcome.stdout()).unwrap();
    assert_eq!(har["log"]["version"], "1.2");
    let entries = har["log"]["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    let (first, second) = (&entries[0], &entries[1]);
    assert_eq!(first["request"]["url"], "http://a.test/x?a=1&b");
    assert_eq!(first["request"]["queryString"][0]["value"], "1");
    assert_eq!(first["response"]["status"], 200);
    assert_eq!(first["response"]["content"]["size"], 5);
    assert!(first["time"].as_f64().unwrap() > 0.0);
    assert!(first["startedDateTime"].as_str().unwrap().starts_with("20"));
    assert_eq!(second["response"]["status"], 403);
    assert!(second["comment"].as_str().unwrap().contains("deny by no"));
}
