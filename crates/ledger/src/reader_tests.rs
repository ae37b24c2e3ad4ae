use super::*;
use crate::testing::{Lab, allow, deny, dns};
use bailiwick_event::{Act, Text};

/// Eleven rows: an allowed and a refused lookup in turn, and the exit of the command.
fn mixed(lab: &Lab) -> SessionId {
    let ledger = lab.session();
    for i in 0..5 {
        ledger
            .record(dns(format!("good{i}.example.com")), allow())
            .unwrap();
        ledger
            .record(dns(format!("bad{i}.example.com")), deny())
            .unwrap();
    }
    let exit = Act::ExecExit {
        code: 3,
        duration_ns: 1,
    };
    ledger.record(exit, allow()).unwrap();
    ledger.close().unwrap();
    ledger.id().clone()
}

const NONE: [u64; 0] = [];

fn ids(reader: &SessionReader, filter: Filter) -> Vec<u64> {
    let events = reader.events(&filter).unwrap();
    events.into_iter().map(|event| event.id).collect()
}

#[test]
fn filters_choose_rows() {
    let lab = Lab::new();
    let reader = lab.reader(&mixed(&lab));
    let all = Filter::default();
    assert_eq!(ids(&reader, all), (1..=12).collect::<Vec<_>>());
    assert_eq!(
        ids(
            &reader,
            Filter {
                denied: true,
                ..all
            }
        ),
        [2, 4, 6, 8, 10]
    );
    assert_eq!(
        ids(
            &reader,
            Filter {
                denied: true,
                after_id: 6,
                ..all
            }
        ),
        [8, 10]
    );
    assert_eq!(
        ids(
            &reader,
            Filter {
                limit: Some(2),
                after_id: 3,
                ..all
            }
        ),
        [4, 5]
    );
    let exec = Filter {
        boundary: Some(Boundary::Exec),
        ..all
    };
    assert_eq!(ids(&reader, exec), [11]);
    assert_eq!(
        ids(
            &reader,
            Filter {
                denied: true,
                ..exec
            }
        ),
        NONE
    );
    assert_eq!(
        ids(
            &reader,
            Filter {
                after_id: u64::MAX,
                ..all
            }
        ),
        NONE
    );
    assert_eq!(reader.event(4).unwrap().unwrap().id, 4);
    assert_eq!(reader.event(0).unwrap(), None);
    assert_eq!(reader.event(13).unwrap(), None);
}

#[test]
fn filters_choose_the_same_rows_of_a_live_session() {
    let lab = Lab::new();
    let ledger = lab.session();
    let reader = lab.reader(ledger.id());
    for decision in [allow(), deny(), allow(), deny()] {
        ledger.record(dns("a.example.com"), decision).unwrap();
    }
    let all = Filter::default();
    assert_eq!(ids(&reader, all), [1, 2, 3, 4]);
    assert_eq!(
        ids(
            &reader,
            Filter {
                denied: true,
                limit: Some(1),
                ..all
            }
        ),
        [2]
    );
    ledger.record(dns("b.example.com"), allow()).unwrap();
    assert_eq!(
        ids(&reader, Filter { after_id: 4, ..all }),
        [5],
        "the reader follows"
    );
    assert!(!ledger.directory().join("session.db").exists());
}

#[test]
fn a_follower_sees_every_row_once_while_the_writer_works() {
    let lab = Lab::new();
    let ledger = lab.session();
    let reader = lab.reader(ledger.id());
    let recorder = std::thread::spawn(move || {
        // Several times what the journal holds.
        for i in 0..20_000 {
            ledger
                .record(dns(format!("{i}.{}", "x".repeat(200))), allow())
                .unwrap();
        }
        ledger.close().unwrap();
    });
    let mut seen = 0;
    while seen < 20_001 {
        for event in reader
            .events(&Filter {
                after_id: seen,
                ..Filter::default()
            })
            .unwrap()
        {
            seen += 1;
            assert_eq!(event.id, seen);
        }
        let verified = reader.verify().unwrap();
        assert!(verified.is_intact(), "{verified}");
    }
    recorder.join().unwrap();
}

#[test]
fn the_stream_is_one_event_on_a_line_whatever_its_text() {
    let lab = Lab::new();
    let ledger = lab.session();
    let hostile = Text::from(b"a\nb\x1b[2J\xff\x00".to_vec());
    let event = ledger.record(dns(hostile), deny()).unwrap();
    let mut out = Vec::new();
    let last = lab
        .reader(ledger.id())
        .stream_jsonl(&Filter::default(), &mut out)
        .unwrap();
    assert_eq!(last, 1);
    assert_eq!(out.iter().filter(|b| **b == b'\n').count(), 1);
    assert!(!out.contains(&0x1b));
    assert_eq!(serde_json::from_slice::<Event>(&out).unwrap(), event);
}

#[test]
fn readers_that_come_at_once_replay_once() {
    let lab = Lab::new();
    let id = lab.closed(500);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(lab.events(&id).len(), 501));
        }
    });
    assert!(lab.verify(&id).is_intact());
}

#[test]
fn a_record_whose_database_cannot_be_made_is_read_from_the_journal() {
    let lab = Lab::new();
    let id = lab.closed(3);
    let directory = lab.state.sessions().join(id.as_str());
    std::fs::create_dir(directory.join("replay.lock")).unwrap();
    assert_eq!(lab.events(&id).len(), 4);
    assert!(!directory.join("session.db").exists());
}

#[test]
fn a_session_that_is_not_there_is_not_found() {
    let lab = Lab::new();
    let error = SessionReader::open(&lab.state, &SessionId::new(1, 1)).unwrap_err();
    assert!(matches!(error, LedgerError::NotFound(_)));
}
