//! A full disk is an error that the caller learns, and nothing that was recorded before is lost.
//! The tests start themselves again where a disk is full: on a small tmpfs in a namespace of its
//! own, and under a limit on the size of files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bailiwick_event::{Act, Decision, Origin, RuleRef, Text, Transport};
use bailiwick_ledger::{Filter, Ledger, LedgerError, NewSession, SessionReader, StateDir};
use std::path::Path;
use std::process::Command;

const PLACE: &str = "BAILIWICK_TEST_FULL_DISK";

fn session(state: &StateDir) -> Ledger {
    let new = NewSession {
        name: None,
        workspace: Path::new("/"),
        argv: &[],
    };
    Ledger::create(state, &new).unwrap()
}

fn record(ledger: &Ledger) -> Result<u64, LedgerError> {
    let act = Act::Dns {
        qname: Text::from("x".repeat(5000)),
        qtype: "A".into(),
        transport: Transport::Udp,
    };
    let rule = RuleRef {
        id: "network.allow".into(),
        origin: Origin::built_in(),
    };
    Ok(ledger.record(act, Decision::allow(rule))?.id)
}

/// Records until it fails; returns the rows that were kept and why it failed.
fn fill(ledger: &Ledger) -> (u64, LedgerError) {
    let mut kept = 0;
    loop {
        match record(ledger) {
            Ok(id) => kept = id,
            Err(error) => return (kept, error),
        }
        assert!(kept < 10_000, "the disk did not fill up");
    }
}

fn intact(state: &StateDir, ledger: &Ledger, rows: u64) {
    let reader = SessionReader::open(state, ledger.id()).unwrap();
    assert_eq!(
        reader.events(&Filter::default()).unwrap().len() as u64,
        rows
    );
    let verified = reader.verify().unwrap();
    assert!(verified.is_intact(), "{verified}");
}

/// Runs a test of this file again with `PLACE` set, as the last words of a shell script.
fn again(test: &str, place: &str, command: &mut Command) -> bool {
    command
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(PLACE, place)
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn on_a_full_disk_rows_fail_and_go_on_when_there_is_space() {
    let Some(place) = std::env::var_os(PLACE) else {
        let folder = tempfile::TempDir::new().unwrap();
        let place = folder.path().to_str().unwrap();
        let mount = "mount -t tmpfs -o size=600k none \"$BAILIWICK_TEST_FULL_DISK\"";
        let words = ["--map-root-user", "--user", "--mount", "sh", "-c"];
        let mut probe = Command::new("unshare");
        let can = probe.args(words).arg(mount).env(PLACE, place).status();
        if !can.is_ok_and(|status| status.success()) {
            eprintln!("skipped: this machine lets nobody mount a tmpfs");
            return;
        }
        let mut unshare = Command::new("unshare");
        unshare
            .args(words)
            .arg(format!("{mount} && exec \"$@\""))
            .arg("sh");
        let test = "on_a_full_disk_rows_fail_and_go_on_when_there_is_space";
        assert!(again(test, place, &mut unshare));
        return;
    };
    let place = Path::new(&place);
    let ballast = place.join("ballast");
    std::fs::write(&ballast, vec![1; 250_000]).unwrap();
    let state = StateDir::at(place.join("state")).unwrap();
    let ledger = session(&state);
    let (kept, error) = fill(&ledger);
    assert!(kept > 10, "{kept}");
    assert!(error.to_string().contains("free some space"), "{error}");
    assert!(record(&ledger).is_err());
    intact(&state, &ledger, kept);

    std::fs::remove_file(&ballast).unwrap();
    let next = record(&ledger).unwrap();
    assert_eq!(next, kept + 2, "the loss has a row of its own");
    let reader = SessionReader::open(&state, ledger.id()).unwrap();
    let told = reader.event(kept + 1).unwrap().unwrap();
    assert_eq!(told.act, Act::Overflow { lost: 2 });
    intact(&state, &ledger, next);
}

#[test]
fn when_the_database_cannot_grow_rows_fail_and_the_journal_keeps_the_rest() {
    let Some(place) = std::env::var_os(PLACE) else {
        let folder = tempfile::TempDir::new().unwrap();
        let place = folder.path().to_str().unwrap();
        // The signal would end the process before the error is seen.
        let mut sh = Command::new("sh");
        sh.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]);
        let test = "when_the_database_cannot_grow_rows_fail_and_the_journal_keeps_the_rest";
        assert!(again(test, place, &mut sh));
        return;
    };
    let limit = rustix::process::Rlimit {
        current: Some(1_100_000),
        maximum: Some(1_100_000),
    };
    rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
    let state = StateDir::at(Path::new(&place).join("state")).unwrap();
    let ledger = session(&state);
    ledger.start_writer().unwrap();
    let (kept, error) = fill(&ledger);
    // More than the journal alone holds.
    assert!(kept > 200, "{kept}");
    let LedgerError::Overflow {
        cause: Some(cause), ..
    } = &error
    else {
        panic!("{error}")
    };
    assert!(cause.contains("session.db"), "{cause}");
    intact(&state, &ledger, kept);
    // There is room for two short rows: the loss and the end.
    ledger.close().unwrap();
    intact(&state, &ledger, kept + 2);
}
