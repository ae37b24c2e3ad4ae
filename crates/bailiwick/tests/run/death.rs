//! The supervisor can die at any instant: what it answered is on record, and nothing is left.

use crate::support::processes::with_words;
use crate::support::{Backend, RawOrigin, Sandbox, Traces, wait};
use bailiwick_event::{Act, Event};
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

/// Asks for one name after the other, and prints each that was answered.
const CLIENT: &str = r"
import socket, os
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(('9.9.9.9', 53))
n = 0
while True:
    n += 1
    label = b'q%d' % n
    s.send(b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00' + bytes([len(label)]) + label
           + b'\x04test\x00\x00\x01\x00\x01')
    s.recv(512)
    os.write(1, label + b'\n')
";

fn mounts() -> usize {
    let all = std::fs::read_to_string("/proc/self/mountinfo");
    all.unwrap().lines().count()
}

/// What is picked of a record's rows.
fn said(json: &str, pick: impl Fn(Act) -> Option<String>) -> HashSet<String> {
    json.lines()
        .filter_map(|line| pick(serde_json::from_str::<Event>(line).unwrap().act))
        .collect()
}

#[test]
fn a_hundred_kills_lose_no_answer_and_leave_nothing() {
    let sandbox = Sandbox::new();
    let marker = sandbox.workspace().display().to_string();
    sandbox.run("true").success();
    let (before, traces) = (mounts(), Traces::before(&sandbox.workspace()));
    let mut answered: HashMap<String, HashSet<String>> = HashMap::new();
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    for round in 0..100_u32 {
        let known: HashSet<_> = sandbox.scratch().sessions().into_iter().collect();
        let mut child = sandbox
            .command()
            .args(["run", "--workspace", &marker, "--", "python3", "-c", CLIENT])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Most are killed under load, some while they start.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut got = HashSet::new();
        if round % 5 != 0 {
            got.extend(lines.next().map(Result::unwrap));
        }
        std::thread::sleep(Duration::from_micros(seed % 30_000));
        child.kill().unwrap();
        child.wait().unwrap();
        got.extend(lines.map_while(Result::ok));
        let session = sandbox
            .scratch()
            .sessions()
            .into_iter()
            .find(|s| !known.contains(s));
        match session {
            Some(session) => drop(answered.insert(session, got)),
            None => assert!(got.is_empty(), "answers without a session"),
        }
    }
    assert!(
        answered.values().filter(|names| !names.is_empty()).count() >= 80,
        "there was no load"
    );
    for (session, names) in &answered {
        let json = sandbox
            .bailiwick(["log", "--json", session])
            .success()
            .stdout();
        let rows = said(&json, |act| match act {
            Act::Dns { qname, .. } => Some(qname.to_string_lossy()),
            _ => None,
        });
        for name in names {
            let full = format!("{name}.test");
            assert!(
                rows.contains(&full) || rows.contains(&(full + ".")),
                "{session} lost {name}"
            );
        }
        // Killed before its journal stood, a session has nothing to verify.
        if !json.is_empty() {
            sandbox.bailiwick(["log", "verify", session]).success();
        }
    }
    wait::until("no process outlives its supervisor", || {
        with_words(&marker).is_empty()
    });
    // No control group either.
    traces.gone("after them");
    assert_eq!(mounts(), before);
}

/// Asks for one page after the other on connections within TLS, from four threads.
const BROWSER: &str = r"
import http.client, os, ssl, threading
def browse(thread):
    n = 0
    while True:
        c = http.client.HTTPSConnection('a.test', context=ssl.create_default_context())
        for _ in range(20):
            n += 1
            c.request('GET', '/%d/%d' % (thread, n))
            c.getresponse().read()
            os.write(1, b'/%d/%d\n' % (thread, n))
for thread in range(4):
    threading.Thread(target=browse, args=(thread,)).start()
";

/// How many pages a browser has got at the least when its supervisor is killed.
const PAGES: usize = 8;

#[test]
fn what_a_server_heard_before_the_supervisor_was_killed_is_on_record_and_nothing_follows() {
    let origin = RawOrigin::start(&["a.test"], &[]);
    let hosts = format!("\"a.test\" = \"127.0.0.1:{}\"", origin.secure);
    let sandbox = origin.sandbox(Backend::Process, &hosts, "");
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut loaded = 0;
    for round in 0..15 {
        let before = origin.requests().len();
        let known: HashSet<_> = sandbox.scratch().sessions().into_iter().collect();
        let mut child = sandbox
            .command()
            .args(["run", "--workspace"])
            .arg(sandbox.workspace())
            .args(sandbox.options())
            .args(["--", "python3", "-c", BROWSER])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Under load, however slow the machine is.
        let got = lines.by_ref().take(PAGES).map_while(Result::ok).count();
        assert_eq!(got, PAGES, "it got no page any more");
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_micros(seed % 150_000));
        child.kill().unwrap();
        child.wait().unwrap();
        // Ends when the last program inside has.
        loaded += got + lines.map_while(Result::ok).count();
        // What was sent before is on its way to a server that may have to wait for a processor.
        origin.has_heard_everything();
        let heard = origin.requests();
        let mut sessions = sandbox.scratch().sessions().into_iter();
        let session = sessions.find(|s| !known.contains(s)).unwrap();
        let json = sandbox
            .bailiwick(["log", "--json", &session])
            .success()
            .stdout();
        let rows = said(&json, |act| match act {
            Act::Http { method, path, .. } => Some(format!("{method} {path}")),
            _ => None,
        });
        for request in &heard[before..] {
            assert!(
                rows.contains(request),
                "round {round}: {request} has no row"
            );
        }
        sandbox.bailiwick(["log", "verify", &session]).success();
        assert_eq!(origin.requests().len(), heard.len(), "a request followed");
    }
    assert!(loaded > 100, "there was no load: {loaded}");
}
