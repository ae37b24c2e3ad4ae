use super::*;
use crate::testing::{Lab, allow, deny, dns, new_session};
use crate::{Filter, SessionState, Sessions};
use bailiwick_event::Text;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn what_was_recorded_is_read_back_and_ends_with_the_end() {
    let lab = Lab::new();
    let ledger = lab.session();
    let kept = [
        ledger.record(dns("a.example.com"), allow()).unwrap(),
        ledger.record(dns("b.example.com"), deny()).unwrap(),
    ];
    assert_eq!((kept[0].id, kept[1].id), (1, 2));
    ledger.close().unwrap();
    ledger.close().unwrap();
    let read = lab.events(ledger.id());
    assert_eq!(read[..2], kept);
    assert_eq!(read[2].act, Act::SessionEnd { rows: 2 });
    assert_eq!(read.len(), 3);
}

#[test]
fn a_short_session_makes_no_database_until_somebody_reads_it() {
    let lab = Lab::new();
    let id = lab.closed(3);
    let database = lab.state.sessions().join(id.as_str()).join("session.db");
    assert!(!database.exists());
    assert_eq!(lab.events(&id).len(), 4);
    assert!(database.exists());
}

#[test]
fn a_journal_made_in_advance_is_a_sessions_or_nobodys() {
    let lab = Lab::new();
    let names = || {
        let folder = std::fs::read_dir(lab.state.sessions()).unwrap();
        let names = folder.map(|entry| entry.unwrap().file_name());
        names.filter(|name| name != "index").count()
    };
    let blanks = [(); 2].map(|()| Blank::new(&lab.state).unwrap());
    assert_eq!(names(), 0);
    let [one, other] = blanks;
    let ledger = Ledger::create_in(&lab.state, &new_session(None), Some(one)).unwrap();
    let kept = ledger.record(dns("a.example.com"), allow()).unwrap();
    drop(other);
    assert_eq!(names(), 1);
    let state = || Sessions::open(&lab.state).list().unwrap()[0].state;
    assert_eq!(state(), SessionState::Live);
    ledger.close().unwrap();
    assert_eq!(lab.events(ledger.id())[0], kept);
    drop(ledger);
    assert_eq!(state(), SessionState::Ended);
}

#[test]
fn counts_follow_the_rows() {
    let lab = Lab::new();
    let ledger = lab.session();
    assert_eq!(ledger.last_refusal(), None);
    ledger.record(dns("a.example.com"), allow()).unwrap();
    let refused = ledger.record(dns("b.example.com"), deny()).unwrap();
    let exit = Act::ExecExit {
        code: 0,
        duration_ns: 1,
    };
    ledger.record(exit, allow()).unwrap();
    let counts = ledger.counts();
    assert_eq!((counts.rows, counts.refusals, counts.lost), (3, 1, 0));
    let expected = BTreeMap::from([(Boundary::Dns, 2), (Boundary::Exec, 1)]);
    assert_eq!(counts.by_boundary, expected);
    assert_eq!(ledger.last_refusal(), Some(refused));
}

#[test]
fn a_closed_record_takes_nothing_more() {
    let lab = Lab::new();
    let ledger = lab.session();
    let clone = ledger.clone();
    ledger.close().unwrap();
    let late = clone.record(dns("late.example.com"), allow());
    assert!(matches!(late, Err(LedgerError::Closed)));
    assert!(matches!(clone.start_writer(), Err(LedgerError::Closed)));
    assert_eq!(lab.events(ledger.id()).len(), 1);
}

#[test]
fn threads_that_record_at_once_make_one_chain() {
    let lab = Lab::new();
    let ledger = lab.session();
    ledger.start_writer().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let ledger = &ledger;
            scope.spawn(move || {
                for i in 0..1000 {
                    let name = format!("{thread}-{i}.{}", "x".repeat(i % 300));
                    ledger.record(dns(name), allow()).unwrap();
                }
            });
        }
    });
    ledger.close().unwrap();
    let events = lab.events(ledger.id());
    assert_eq!(events.len(), 8001);
    let names: BTreeSet<_> = events.iter().map(|e| e.act.resource()).collect();
    assert_eq!(names.len(), 8001, "every row is there once");
    let verified = lab.verify(ledger.id());
    assert!(verified.is_intact(), "{verified}");
}

#[test]
fn a_journal_that_fills_up_starts_its_writer() {
    let lab = Lab::new();
    let ledger = lab.session();
    // Four times what the journal holds.
    for i in 0..80 {
        ledger
            .record(dns(format!("{i}{}", "x".repeat(50_000))), allow())
            .unwrap();
    }
    assert!(ledger.directory().join("session.db").exists());
    ledger.close().unwrap();
    assert_eq!(lab.events(ledger.id()).len(), 81);
    assert!(lab.verify(ledger.id()).is_intact());
}

#[test]
fn what_could_not_be_kept_is_told_by_the_next_row_that_could() {
    let lab = Lab::new();
    let ledger = lab.session();
    ledger.wait_for_room(crate::state::PATIENCE);
    // A folder in the place of the database: the writer cannot get on.
    let database = ledger.directory().join("session.db");
    std::fs::create_dir(&database).unwrap();
    let record = || ledger.record(dns("x".repeat(50_000)), allow());
    let mut kept = 0;
    let error = loop {
        match record() {
            Ok(_) => kept += 1,
            Err(e) => break e,
        }
    };
    let LedgerError::Overflow {
        cause: Some(cause), ..
    } = &error
    else {
        panic!("{error}")
    };
    assert!(cause.contains("session.db"), "{cause}");
    assert!(kept > 10, "{kept}");
    assert!(record().is_err(), "the second one does not wait again");
    assert_eq!(ledger.counts().lost, 2);

    std::fs::remove_dir(&database).unwrap();
    let event = loop {
        if let Ok(event) = record() {
            break event;
        }
        std::thread::yield_now();
    };
    let lost = ledger.counts().lost;
    let before = lab
        .reader(ledger.id())
        .event(event.id - 1)
        .unwrap()
        .unwrap();
    assert_eq!(before.act, Act::Overflow { lost });
    assert!(before.is_refusal() && !before.decision.remedy.is_empty());
    ledger.close().unwrap();
    assert!(lab.verify(ledger.id()).is_intact());
    let listed = Sessions::open(&lab.state).find("latest").unwrap();
    assert_eq!(listed.lost, lost);
}

#[test]
fn a_loss_that_no_row_followed_is_told_at_the_end() {
    let lab = Lab::new();
    let ledger = lab.session();
    ledger.record(dns("a.example.com"), allow()).unwrap();
    ledger.0.0.lock().lose(1);
    ledger.close().unwrap();
    let acts: Vec<_> = lab.events(ledger.id()).into_iter().map(|e| e.act).collect();
    assert_eq!(
        acts[1..],
        [Act::Overflow { lost: 1 }, Act::SessionEnd { rows: 2 }]
    );
}

#[test]
fn an_end_with_losses_is_kept_however_far_behind_the_writer_is() {
    let lab = Lab::new();
    let ledger = lab.session();
    ledger.wait_for_room(std::time::Duration::ZERO);
    // A folder in the place of the database: the writer never gets on.
    let database = ledger.directory().join("session.db");
    std::fs::create_dir(&database).unwrap();
    for length in [50_000, 1_000, 0] {
        while ledger.record(dns("x".repeat(length)), allow()).is_ok() {}
    }
    ledger.close().unwrap();
    std::fs::remove_dir(&database).unwrap();
    let events = lab.events(ledger.id());
    let rows = events.len() as u64 - 1;
    let acts: Vec<_> = events.into_iter().rev().map(|e| e.act).take(2).collect();
    assert_eq!(acts, [Act::SessionEnd { rows }, Act::Overflow { lost: 1 }]);
    assert!(lab.verify(ledger.id()).is_intact());
}

#[test]
fn the_files_of_a_session_are_the_users_alone() {
    use std::os::unix::fs::MetadataExt as _;
    let lab = Lab::new();
    let ledger = lab.session();
    let id = ledger.id().clone();
    assert_eq!(lab.reader(&id).policy_lock().unwrap(), None);
    ledger.keep_policy("# nothing\n").unwrap();
    ledger.close().unwrap();
    lab.events(&id);
    let directory = lab.state.sessions().join(id.as_str());
    for entry in std::fs::read_dir(&directory).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.path());
    }
    let mode = std::fs::metadata(&directory).unwrap().mode() & 0o777;
    assert_eq!(mode, 0o700);
    let text = lab.reader(&id).policy_lock().unwrap();
    assert_eq!(text.as_deref(), Some("# nothing\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn hostile_names_come_back_as_they_were(names in prop::collection::vec(any::<Vec<u8>>(), 1..20)) {
        let lab = Lab::new();
        let ledger = lab.session();
        for name in &names {
            ledger.record(dns(Text::from(name.clone())), deny()).unwrap();
        }
        ledger.close().unwrap();
        let filter = Filter { denied: true, ..Filter::default() };
        let read = lab.reader(ledger.id()).events(&filter).unwrap();
        let expected: Vec<_> = names.into_iter().map(dns).collect();
        prop_assert_eq!(read.into_iter().map(|e| e.act).collect::<Vec<_>>(), expected);
        let verified = lab.verify(ledger.id());
        prop_assert!(verified.is_intact(), "{}", verified);
    }
}
