//! Many runs, one after the other and all at once, leave what one leaves: its record. They are a
//! program of their own, because what they count is the machine's, and because they would be in the
//! way of every other test.
#![allow(missing_docs, reason = "tests are named after what they prove")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper that cannot do its work fails the test that called it"
)]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use support::{Sandbox, Traces, wait};

const AT_ONCE: usize = 200;

/// How many runs one after the other. A debug build of the product is slow: a fifth of the runs
/// shows the same leaks.
fn sequential(sandbox: &Sandbox) -> usize {
    let version = sandbox.bailiwick(["--version"]).success().stdout();
    match version.contains("release") {
        true => 1000,
        false => 200,
    }
}

/// One test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The numbers that the kernel gives to what a new sandbox is made of: of each kind the lowest that
/// is free, so that they rise with everything that is never let go, even where nobody can name it.
fn numbers(sandbox: &Sandbox) -> BTreeMap<&'static str, u64> {
    let script = "readlink /proc/self/ns/net; readlink /proc/self/ns/mnt
        grep '^[0-9]* [0-9]* 0:[0-9]* / / ' /proc/self/mountinfo";
    let text = sandbox.run(script).success().stdout();
    let found: Vec<u64> = text
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    // net:[4026532000] mnt:[4026532001] and "36 35 0:42 / / rw …"
    let [network, mounts, mount, _, 0, device, ..] = found[..] else {
        panic!("{text}")
    };
    BTreeMap::from([
        ("network namespace", network),
        ("mount namespace", mounts),
        ("mount", mount),
        ("file system", device),
    ])
}

/// Waits until no number is higher than before by half a unit for each run: what is being dissolved
/// goes, and so do the sandboxes of others; what leaked stays.
fn nothing_is_held(sandbox: &Sandbox, before: &BTreeMap<&'static str, u64>, runs: usize) {
    wait::for_ok(&format!("{runs} runs hold nothing"), || {
        let now = numbers(sandbox);
        let higher: Vec<_> = before
            .iter()
            .filter(|(name, was)| now[*name] > **was + runs as u64 / 2)
            .map(|(name, was)| format!("{name} {was} before, {} now", now[name]))
            .collect();
        match higher.is_empty() {
            true => Ok(()),
            false => Err(format!("{higher:#?}")),
        }
    });
}

/// What the state folder holds but the sessions.
fn beside_sessions(sandbox: &Sandbox) -> Vec<String> {
    let state = sandbox.scratch().state();
    let mut all = Vec::new();
    let mut todo = vec![state.clone()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&state).unwrap().display().to_string();
            if name.starts_with("bailiwick/sessions/") {
                continue;
            }
            if path.is_dir() {
                todo.push(path);
            }
            all.push(name);
        }
    }
    all.sort();
    all
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let temporary = sandbox.scratch().root().join("tmp");
    fs::create_dir(&temporary).unwrap();
    sandbox.host_env("TMPDIR", temporary)
}

/// Nothing lies in the test's folders but what each run records.
fn only_records(sandbox: &Sandbox, beside: &[String]) {
    assert_eq!(beside_sessions(sandbox), beside);
    for folder in ["tmp", "workspace"] {
        let folder = sandbox.scratch().root().join(folder);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{folder:?}");
    }
}

fn start(sandbox: &Sandbox, script: &str) -> Child {
    let mut command = sandbox.command();
    command
        .args(["run", "--workspace"])
        .arg(sandbox.workspace());
    command.args(["-c", script]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_thousand_runs_leave_nothing_but_their_records() {
    let _alone = alone();
    let sandbox = sandbox();
    // What is made once per workspace is there after the first; a name is asked for, so that the gate
    // runs and ends as well.
    let once = || {
        let ended = start(&sandbox, "getent hosts a.test; echo x > f && rm f").wait_with_output();
        let ended = ended.unwrap();
        assert_eq!(
            ended.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
    };
    once();
    let runs = sequential(&sandbox);
    let beside = beside_sessions(&sandbox);
    let traces = Traces::before_alone(&sandbox.workspace());
    let before = numbers(&sandbox);
    (0..runs).for_each(|_| once());
    traces.gone("after them");
    let recorded = sandbox.scratch().sessions().len();
    nothing_is_held(&sandbox, &before, runs);
    only_records(&sandbox, &beside);
    // And the one that was looked at, and the one before.
    assert_eq!(recorded, runs + 2);
}

#[test]
fn two_hundred_runs_at_once_all_end_as_they_should_and_are_on_record() {
    let _alone = alone();
    let sandbox = sandbox();
    sandbox.run("true").success();
    let known = sandbox.scratch().sessions();
    let beside = beside_sessions(&sandbox);
    let traces = Traces::before_alone(&sandbox.workspace());
    let children: Vec<_> = (0..AT_ONCE)
        .map(|number| {
            start(
                &sandbox,
                &format!("echo {number}; sleep 0.2; exit {}", number % 100),
            )
        })
        .collect();
    for (number, child) in children.into_iter().enumerate() {
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(
            ended.status.code(),
            Some(number as i32 % 100),
            "{number}: {said}"
        );
        assert_eq!(ended.stdout, format!("{number}\n").as_bytes());
        assert_eq!(said, "");
    }
    traces.gone("after them");
    only_records(&sandbox, &beside);
    let listed = sandbox
        .bailiwick(["sessions", "list", "--json"])
        .success()
        .stdout();
    let mut codes = BTreeMap::new();
    for line in listed.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let session = row["session"].as_str().unwrap().to_owned();
        if known.contains(&session) {
            continue;
        }
        assert_eq!(
            (&row["state"], &row["rows"]),
            (&"ended".into(), &4.into()),
            "{row}"
        );
        *codes.entry(row["exit_code"].as_u64().unwrap()).or_insert(0) += 1;
        sandbox
            .bailiwick(["log", "verify", &session])
            .success()
            .stdout_has("anchored");
    }
    let expected: BTreeMap<u64, usize> = (0..100).map(|code| (code, AT_ONCE / 100)).collect();
    assert_eq!(codes, expected);
}

/// Asks, connects and writes again and again: some times, then, when it is told to, many times.
const BUSY: &str = r"
import os, socket, time
from urllib.parse import urlsplit
proxy = urlsplit(os.environ['http_proxy'])
def once():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(60)
    s.sendto(b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x04test\x00\x00\x01\x00\x01',
             ('9.9.9.9', 53))
    s.recv(512)
    for address in [('93.184.216.34', 443), (proxy.hostname, proxy.port)]:
        try:
            with socket.create_connection(address, 60) as c:
                c.sendall(b'GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
                while c.recv(1000): pass
        except OSError: pass
    open('file', 'w').close()
    try: open('.mcp.json', 'w')
    except OSError: pass
def wait(name):
    while not os.path.exists(name): time.sleep(0.01)
for n in range(20): once()
open('warm', 'w').close(); wait('more')
for n in range(500):
    once()
    if n % 50 == 49: open(f'done-{n}', 'w').close()
wait('end')
";

#[test]
fn a_run_that_goes_on_for_long_gathers_no_descriptors() {
    let _alone = alone();
    let sandbox = sandbox().file("busy.py", BUSY);
    let child = start(&sandbox, "exec python3 busy.py");
    let id = child.id();
    let wait = |name: &str| {
        let file = sandbox.workspace().join(name);
        wait::until(&format!("there is {name}"), || file.exists());
    };
    let create = |name: &str| fs::write(sandbox.workspace().join(name), "").unwrap();
    let supervisor = format!("/proc/{id}/fd");
    let open = || fs::read_dir(&supervisor).unwrap().count();
    wait("warm");
    // Closed connections go some moments later. Where that takes longer there are more before.
    std::thread::sleep(Duration::from_secs(1));
    let before = open();
    create("more");
    for n in (49..500).step_by(50) {
        wait(&format!("done-{n}"));
    }
    wait::for_ok(&format!("{before} descriptors are enough"), || {
        let after = open();
        (after <= before).then_some(()).ok_or(after)
    });
    create("end");
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains("refused"), "it was not busy: {said}");
}
