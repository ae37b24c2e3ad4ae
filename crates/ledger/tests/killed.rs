//! A supervisor that is killed at any instant has lost no row that it answered. The test starts
//! itself again as the supervisor: it says on its standard output what it has recorded, and is killed
//! when it has said so much, so that a busy machine has it do the same work later.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bailiwick_event::{Act, Decision, Origin, RuleRef, Text, Transport};
use bailiwick_ledger::{
    Anchor, Filter, Ledger, LedgerError, NewSession, Sessions, StateDir, Verification,
};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread::{sleep, spawn};
use std::time::Duration;

const STATE: &str = "BAILIWICK_TEST_STATE";
/// Says that the supervisor has its writer from the start.
const WRITER: &str = "BAILIWICK_TEST_WRITER";
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
    // The others get it when they are half full.
    if std::env::var_os(WRITER).is_some() {
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
        let event = match ledger.record(act, Decision::allow(rule)) {
            Ok(event) => event,
            // On a busy machine the writer may not give room in its time: the next row tells of the loss.
            Err(LedgerError::Overflow { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        out.write_all(format!("\nack {}\n", event.id).as_bytes())
            .unwrap();
        out.flush().unwrap();
    }
}

/// When a supervisor is killed.
#[derive(Clone, Copy)]
enum Due {
    /// So long after it was started, wherever it is then.
    Started(Duration),
    /// When it has said that it has recorded so many rows.
    Recorded(u64),
    /// When its writer has begun to work.
    Drained,
}

/// The highest row that the supervisor said it has recorded, when it is killed.
fn kill_when(state: &Path, has_writer: bool, due: Due) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    if has_writer {
        command.env(WRITER, "1");
    }
    let mut child = command
        .args(["--exact", "supervisor", "--nocapture"])
        .env(STATE, state)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let (tell, told) = mpsc::channel();
    let reader = spawn(move || {
        let (mut line, mut last) = (String::new(), 0);
        while out.read_line(&mut line).unwrap() > 0 {
            let whole = line.strip_suffix('\n');
            let row = whole.and_then(|line| line.strip_prefix("ack ")?.parse().ok());
            if let Some(row) = row {
                last = row;
                let _ = tell.send(row);
            }
            line.clear();
        }
        last
    });
    match due {
        Due::Started(life) => sleep(life),
        Due::Recorded(rows) => assert!(told.iter().any(|row| row >= rows), "it ended by itself"),
        Due::Drained => {
            while !has_database(state) {
                assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
                sleep(Duration::from_millis(1));
            }
        }
    }
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    reader.join().unwrap()
}

/// Whether a session's rows have begun to be moved to where they stay.
fn has_database(state: &Path) -> bool {
    let sessions = std::fs::read_dir(state.join("sessions"));
    let sessions = sessions.into_iter().flatten().flatten();
    sessions
        .map(|session| session.path().join("session.db"))
        .any(|path| path.exists())
}

#[test]
fn every_row_that_was_acknowledged_survives_sigkill() {
    let mut acknowledged = 0;
    let mut drained = 0;
    for round in 0..ROUNDS {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("state");
        // Spread over the start, the first rows, the first lap and later ones.
        let (has_writer, due) = match round % 4 {
            0 => (
                false,
                Due::Started(Duration::from_micros(round * 7919 % 60_000)),
            ),
            1 => (true, Due::Recorded(1 + round * 7919 % 250)),
            2 => (false, Due::Recorded(1 + round * 7919 % 250)),
            _ => (true, Due::Drained),
        };
        let last = kill_when(&path, has_writer, due);
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
    assert!(
        drained >= ROUNDS / 4,
        "no supervisor lived until its writer worked"
    );
}
