//! A forked child must not keep a session alive, or its supervisor's death would go unseen. It
//! is a program of its own, because a fork copies the descriptors of every test of a process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bailiwick_event::{Act, Decision, Origin, RuleRef, Text, Transport};
use bailiwick_ledger::{Ledger, LedgerError, NewSession, SessionState, Sessions, StateDir};
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::path::Path;

fn record(ledger: &Ledger) -> Result<(), LedgerError> {
    let act = Act::Dns {
        qname: Text::from("a.example.com"),
        qtype: "A".into(),
        transport: Transport::Udp,
    };
    let rule = RuleRef {
        id: "network.allow".into(),
        origin: Origin::built_in(),
    };
    ledger.record(act, Decision::allow(rule)).map(drop)
}

#[test]
fn a_child_that_let_go_neither_records_nor_keeps_the_session_alive() {
    let folder = tempfile::TempDir::new().unwrap();
    let state = StateDir::at(folder.path()).unwrap();
    let new = NewSession {
        name: None,
        workspace: Path::new("/"),
        argv: &[],
    };
    let ledger = Ledger::create(&state, &new).unwrap();
    record(&ledger).unwrap();
    let standing = || Sessions::open(&state).find("latest").unwrap();
    let (mut told, tell) = std::io::pipe().unwrap();
    // SAFETY: the child calls nothing but the ledger, whose mutex no other thread knows, and
    // system calls; it never returns into the test.
    let child = unsafe { libc::fork() };
    if child == 0 {
        ledger.detach_in_child();
        let closed = matches!(record(&ledger), Err(LedgerError::Closed));
        // SAFETY: one byte is written, which is a constant; the others take no pointers.
        unsafe {
            if closed {
                libc::write(tell.as_raw_fd(), b".".as_ptr().cast(), 1);
                loop {
                    libc::pause();
                }
            }
            libc::_exit(1);
        }
    }
    drop(tell);
    // It has let go, and lives on.
    let closed = told.read(&mut [0]).unwrap() == 1;
    assert_eq!(
        standing().state,
        SessionState::Live,
        "the child gave the lock back"
    );
    drop(ledger);
    let died = standing().state == SessionState::Killed;
    // SAFETY: reaps the child that was forked above; `waitpid` may be given no status.
    let running = unsafe {
        let running = libc::waitpid(child, std::ptr::null_mut(), libc::WNOHANG) == 0;
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
        running
    };
    assert!(closed && running, "the child could still record");
    assert!(died, "the child kept the session alive");
    assert_eq!(standing().rows, 1);
}
