use super::*;
use crate::testing::{Lab, allow, deny, dns, new_session};
use crate::{Ledger, NewSession};
use bailiwick_event::Act;

#[test]
fn a_listing_tells_how_each_session_stands() {
    let lab = Lab::new();
    let argv = [Text::from("make"), Text::from(vec![0xff])];
    let new = NewSession {
        argv: &argv,
        ..new_session(Some("build"))
    };
    let ended = Ledger::create(&lab.state, &new).unwrap();
    ended.record(dns("a.example.com"), deny()).unwrap();
    let exit = Act::ExecExit {
        code: 3,
        duration_ns: 1,
    };
    ended.record(exit, allow()).unwrap();
    ended.close().unwrap();
    let live = lab.session();
    live.record(dns("b.example.com"), allow()).unwrap();
    let killed = lab.session();
    killed.record(dns("c.example.com"), deny()).unwrap();
    let killed_id = killed.id().clone();
    drop(killed);
    std::fs::create_dir(lab.state.sessions().join("something else")).unwrap();

    let list = Sessions::open(&lab.state).list().unwrap();
    let [a, b, c] = &list[..] else {
        panic!("{list:?}")
    };
    assert_eq!((&a.id, a.state), (ended.id(), SessionState::Ended));
    assert_eq!((a.exit_code, a.rows, a.refusals), (Some(3), 3, 1));
    assert_eq!((a.name.as_deref(), &a.argv[..]), (Some("build"), &argv[..]));
    assert_eq!(a.workspace, Text::from("/home/me/project"));
    assert!(a.ended_ns >= Some(a.started_ns) && a.started_ns > 0);
    assert_eq!((&b.id, b.state, b.rows), (live.id(), SessionState::Live, 1));
    assert_eq!(
        (&c.id, c.state, c.rows),
        (&killed_id, SessionState::Killed, 1)
    );
    assert_eq!((c.refusals, c.ended_ns, c.exit_code), (1, None, None));
}

#[test]
fn the_latest_session_is_the_one_that_began_last_whatever_the_clock_said() {
    let lab = Lab::new();
    let before = lab.session();
    let meta = before.directory().join("meta");
    // As if the clock had been set back by a year in between.
    let mut text: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&meta).unwrap()).unwrap();
    let started = text["started_ns"].as_u64().unwrap();
    text["started_ns"] = (started + 365 * 86_400 * 1_000_000_000).into();
    std::fs::write(&meta, text.to_string()).unwrap();
    let after = lab.session();
    let list = Sessions::open(&lab.state).list().unwrap();
    assert!(list[0].started_ns > list[1].started_ns);
    assert_eq!((&list[0].id, &list[1].id), (before.id(), after.id()));
    let latest = Sessions::open(&lab.state).find("latest").unwrap();
    assert_eq!(&latest.id, after.id());
}

#[test]
fn a_session_is_found_by_name_by_the_beginning_of_its_id_and_as_the_latest() {
    let lab = Lab::new();
    let sessions = Sessions::open(&lab.state);
    assert!(matches!(
        sessions.find("latest"),
        Err(LedgerError::NotFound(_))
    ));
    let first = lab.named("build");
    first.close().unwrap();
    let second = lab.named("build");
    let third = lab.session();
    let find = |query: &str| sessions.find(query).map(|s| s.id);
    assert_eq!(find("latest").unwrap(), *third.id());
    assert_eq!(find("build").unwrap(), *second.id(), "the younger one");
    assert_eq!(find(first.id().as_str()).unwrap(), *first.id());
    assert_eq!(find(&first.id().as_str()[..22]).unwrap(), *first.id());
    let Err(LedgerError::Ambiguous { candidates, .. }) = find("2") else {
        panic!("three sessions begin with a 2")
    };
    assert_eq!(candidates.len(), 3);
    for nobody in ["", "nobody", "../..", "99999999"] {
        assert!(
            matches!(find(nobody), Err(LedgerError::NotFound(_))),
            "{nobody}"
        );
    }
}

#[test]
fn a_running_session_keeps_its_name() {
    let lab = Lab::new();
    let first = lab.named("build");
    let Err(error) = Ledger::create(&lab.state, &new_session(Some("build"))) else {
        panic!("the name was given twice")
    };
    assert!(error.to_string().contains(first.id().as_str()), "{error}");
    assert_eq!(bailiwick_event::Failure::from(error).exit_code(), 2);
    lab.named("other");
    first.close().unwrap();
    lab.named("build");
    assert_eq!(
        Sessions::open(&lab.state).list().unwrap().len(),
        3,
        "none was made in vain"
    );
}

#[test]
fn a_name_of_several_sessions_means_the_youngest_and_no_only_one() {
    let lab = Lab::new();
    let [first, second] = [(), ()].map(|()| {
        let ledger = lab.named("build");
        ledger.close().unwrap();
        ledger.id().clone()
    });
    let sessions = Sessions::open(&lab.state);
    assert_eq!(sessions.find("build").unwrap().id, second);
    let Err(LedgerError::Ambiguous { candidates, .. }) = sessions.find_only("build") else {
        panic!("one was meant")
    };
    assert_eq!(candidates, [first.clone(), second]);
    assert_eq!(sessions.find_only(first.as_str()).unwrap().id, first);
    sessions.remove(&first).unwrap();
    assert!(sessions.find_only("build").is_ok());
}

#[test]
fn of_sessions_that_want_a_name_at_once_one_gets_it() {
    let lab = Lab::new();
    let made: Vec<_> = std::thread::scope(|scope| {
        let create = || Ledger::create(&lab.state, &new_session(Some("build")));
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(create)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|m| m.is_ok()).count(), 1);
}

#[test]
fn names_that_could_be_taken_for_something_else_are_refused() {
    let lab = Lab::new();
    for bad in [
        "",
        "latest",
        "../x",
        "a b",
        "-x",
        "20261120",
        "é",
        &"a".repeat(65),
    ] {
        let made = Ledger::create(&lab.state, &new_session(Some(bad)));
        assert!(matches!(made, Err(LedgerError::BadName(_))), "{bad}");
    }
}

#[test]
fn a_live_session_is_not_removed_and_a_dead_one_is_gone_alone() {
    let lab = Lab::new();
    let sessions = Sessions::open(&lab.state);
    let other = lab.closed(1);
    let ledger = lab.session();
    let id = ledger.id().clone();
    assert!(matches!(sessions.remove(&id), Err(LedgerError::Live(_))));
    ledger.close().unwrap();
    sessions.remove(&id).unwrap();
    assert!(!ledger.directory().exists());
    assert!(matches!(
        sessions.remove(&id),
        Err(LedgerError::NotFound(_))
    ));
    let left = sessions.list().unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].id, other);
    assert!(lab.verify(&other).is_intact());
}

#[test]
fn a_folder_that_makes_no_sense_does_not_hide_the_others() {
    let lab = Lab::new();
    let broken = lab.closed(1);
    let directory = lab.state.sessions().join(broken.as_str());
    std::fs::write(directory.join("meta"), "{\"id\": 7").unwrap();
    std::fs::write(directory.join("journal"), "nonsense").unwrap();
    let whole = lab.closed(1);
    let list = Sessions::open(&lab.state).list().unwrap();
    assert_eq!(list.len(), 2);
    assert_eq!(list[1].id, whole);
    assert_eq!((list[0].rows, list[0].state), (2, SessionState::Ended));
}
