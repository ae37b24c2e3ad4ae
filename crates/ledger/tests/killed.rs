//! A supervisor that is killed at any instant has lost no row that it answered. The test starts
//! itself again as the supervisor: it says on its standard output what it has recorded.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bailiwick_event::{Act, Decision, Origin, RuleRef, Text, Transport};
use bailiwick_ledger::{Anchor, Filter, Ledger, NewSession, Sessions, StateDir, Verification};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const STATE: &str = "BAILIWICK_TEST_STATE";
const ROUNDS: u64 = 100;

/// The supervisor; does nothing when it is run as a test.
#[test]
fn supervisor() {
    let Some(path) = std::env::var_os(STATE) else {
        return;
    };
    let state = StateDir::at(path).unwrap();
    let new = NewSession {
        name: None,
        workspace: Path::new("/"),
        argv: &[],
    };
    let ledger = Ledger::create(&state, &new).unwrap();
    // Every other one has its writer from the start; the others get it when they are half full.
    if std::process::id().is_multiple_of(2) {
        ledger.start_writer().unwrap();
    }
    let mut out = std::io::stdout();
    for i in 0.. {
        // Sizes that put the end of the journal at ever other places of a row.
        let size = (i * 7919) % 20_000;
        let act = Act::Dns {
            qname: Text::from(format!("{i}.{}", "x".repeat(size))),
            qtype: "A".into(),
            transport: Transport::Udp,
        };
        let rule = RuleRef {
            id: "network.allow".into(),
            origin: Origin::built_in(),
        };
        let event = ledger.record(act, Decision::allow(rule)).unwrap();
        out.write_all(format!("\nack {}\n", event.id).as_bytes())
            .unwrap();
        out.flush().unwrap();
    }
}

/// The highest row that the supervisor said it has recorded, when it is killed after `life`.
fn kill_after(state: &Path, life: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "supervisor", "--nocapture"])
        .env(STATE, state)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        out.read_to_end(&mut said).unwrap();
        said
    });
    std::thread::sleep(life);
    child.kill().unwrap();
    child.wait().unwrap();
    let said = String::from_utf8(reader.join().unwrap()).unwrap();
    let whole = said.rfind('\n').unwrap_or(0);
    said[..whole]
        .lines()
        .filter_map(|line| line.strip_prefix("ack ")?.parse().ok())
        .max()
        .unwrap_or(0)
}

#[test]
fn every_row_that_was_acknowledged_survives_sigkill() {
    let mut acknowledged = 0;
    let mut drained = 0;
    for round in 0..ROUNDS {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("state");
        // Spread over the start, the first rows, the first lap and later ones.
        let life = Duration::from_micros(3000 + (round * 7919 % 60_000));
        let last = kill_after(&path, life);
        acknowledged += last;
        let state = StateDir::at(&path).unwrap();
        let sessions = Sessions::open(&state);
        let Ok(session) = sessions.find("latest") else {
            assert_eq!(last, 0, "round {round}: a session is gone");
            continue;
        };
        drained += u64::from(session.directory.join("session.db").exists());
        let reader = sessions.reader(&session.id).unwrap();
        let ids: Vec<_> = reader.events(&Filter::default()).unwrap();
        let ids: Vec<_> = ids.into_iter().map(|event| event.id).collect();
        assert_eq!(
            ids,
            (1..=ids.len() as u64).collect::<Vec<_>>(),
            "round {round}"
        );
        assert!(
            ids.len() as u64 >= last,
            "round {round}: {} of {last}",
            ids.len()
        );
        let verified = reader.verify().unwrap();
        let unanchored = |v: &Verification| match v {
            Verification::Intact { anchor, .. } => *anchor == Anchor::Unanchored,
            // Killed while the record was made: there was no row yet.
            Verification::NotBegun => last == 0,
            Verification::Damaged { .. } => false,
        };
        assert!(unanchored(&verified), "round {round}: {verified}");
    }
    assert!(
        acknowledged > ROUNDS,
        "the supervisors did next to nothing: {acknowledged}"
    );
    assert!(drained > 0, "no supervisor lived until its writer worked");
}
