use super::*;
use crate::testing::{Lab, allow, dns};
use rusqlite::params;
use std::path::PathBuf;

/// A closed session of ten rows and its end, already in its database.
fn subject() -> (Lab, SessionId, PathBuf) {
    let lab = Lab::new();
    let id = lab.closed(10);
    assert!(lab.verify(&id).is_intact());
    let directory = lab.state.sessions().join(id.as_str());
    (lab, id, directory)
}

/// Runs SQL on the database as someone who knows how to get around the triggers.
fn sql(directory: &Path, statements: &str) {
    let connection = Connection::open(directory.join("session.db")).unwrap();
    let triggers: Vec<(String, String)> = connection
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for (name, _) in &triggers {
        connection
            .execute_batch(&format!("DROP TRIGGER {name}"))
            .unwrap();
    }
    connection.execute_batch(statements).unwrap();
    for (_, sql) in &triggers {
        connection.execute_batch(sql).unwrap();
    }
}

fn problems(lab: &Lab, id: &SessionId) -> Vec<Problem> {
    match lab.verify(id) {
        Verification::Damaged { problems, .. } => problems,
        intact => panic!("{intact}"),
    }
}

#[test]
fn a_record_that_nobody_touched_is_intact_and_anchored() {
    let (lab, id, _) = subject();
    let Verification::Intact { rows, anchor, head } = lab.verify(&id) else {
        panic!("damaged")
    };
    assert_eq!((rows, anchor, head.len()), (11, Anchor::Anchored, 64));
}

#[test]
fn a_session_that_was_killed_while_its_record_was_made_has_nothing_to_verify() {
    let files = ["meta", "journal"];
    for left in 0..files.len() {
        let lab = Lab::new();
        let ledger = lab.session();
        let (id, directory) = (ledger.id().clone(), ledger.directory().to_owned());
        drop(ledger);
        for file in &files[..=left] {
            std::fs::remove_file(directory.join(file)).unwrap();
        }
        assert_eq!(lab.verify(&id), Verification::NotBegun);
        assert_eq!(lab.events(&id), []);
        assert_eq!(lab.reader(&id).damage(), None);
    }
}

#[test]
fn a_journal_that_was_taken_away_is_damage() {
    let lab = Lab::new();
    let ledger = lab.session();
    ledger.record(dns("a.example.com"), allow()).unwrap();
    let (id, directory) = (ledger.id().clone(), ledger.directory().to_owned());
    drop(ledger);
    std::fs::remove_file(directory.join("journal")).unwrap();
    assert!(!lab.verify(&id).is_intact());
}

#[test]
fn an_end_that_the_index_could_not_take_is_unanchored_and_no_damage() {
    let lab = Lab::new();
    let ledger = lab.session();
    let (index, aside) = (lab.state.index(), lab.state.path().join("aside"));
    std::fs::rename(&index, &aside).unwrap();
    std::fs::create_dir(&index).unwrap();
    assert!(ledger.close().is_err());
    std::fs::remove_dir(&index).unwrap();
    std::fs::rename(&aside, &index).unwrap();
    let verified = lab.verify(ledger.id());
    let anchor = match verified {
        Verification::Intact { anchor, .. } => anchor,
        other => panic!("{other}"),
    };
    assert_eq!(anchor, Anchor::Unanchored);
}

#[test]
fn a_killed_session_is_unanchored_and_that_is_no_damage() {
    let lab = Lab::new();
    let ledger = lab.session();
    ledger.record(dns("a.example.com"), allow()).unwrap();
    let id = ledger.id().clone();
    let live = lab.verify(&id);
    assert!(
        matches!(
            live,
            Verification::Intact {
                anchor: Anchor::Live,
                ..
            }
        ),
        "{live}"
    );
    drop(ledger);
    let killed = lab.verify(&id);
    assert!(killed.to_string().contains("unanchored"), "{killed}");
    assert!(matches!(
        killed,
        Verification::Intact {
            rows: 1,
            anchor: Anchor::Unanchored,
            ..
        }
    ));
}

#[test]
fn a_session_without_rows_is_intact() {
    let lab = Lab::new();
    let id = lab.session().id().clone();
    assert!(matches!(
        lab.verify(&id),
        Verification::Intact { rows: 0, .. }
    ));
}

#[test]
fn a_changed_row_is_found() {
    let (lab, id, directory) = subject();
    sql(
        &directory,
        "UPDATE events SET event = replace(event, '3.example', '3.innocent') WHERE id = 4",
    );
    assert_eq!(problems(&lab, &id)[0], Problem::Row(4));
}

#[test]
fn a_changed_hash_is_found() {
    let (lab, id, directory) = subject();
    sql(&directory, "UPDATE events SET hash = x'00' WHERE id = 11");
    assert_eq!(problems(&lab, &id)[0], Problem::Row(11));
}

#[test]
fn a_changed_column_is_found() {
    for (column, value) in [
        ("time_ns", "1"),
        ("boundary", "'http'"),
        ("verdict", "'deny'"),
        ("rule", "'x'"),
        ("origin", "'x'"),
        ("resource", "'x'"),
        ("remedy", "x'ff'"),
    ] {
        let (lab, id, directory) = subject();
        sql(
            &directory,
            &format!("UPDATE events SET {column} = {value} WHERE id = 2"),
        );
        let row = 2;
        assert_eq!(problems(&lab, &id), [Problem::Column { row, column }]);
    }
}

#[test]
fn a_removed_row_is_found() {
    let (lab, id, directory) = subject();
    sql(&directory, "DELETE FROM events WHERE id = 4");
    let missing = Problem::Missing {
        expected: 4,
        found: 5,
    };
    assert_eq!(problems(&lab, &id)[0], missing);
}

#[test]
fn a_removed_row_is_found_even_if_the_others_are_numbered_anew() {
    let (lab, id, directory) = subject();
    sql(
        &directory,
        "DELETE FROM events WHERE id = 4; UPDATE events SET id = id - 1 WHERE id > 4",
    );
    assert_eq!(problems(&lab, &id)[0], Problem::Row(4));
}

#[test]
fn rows_that_were_cut_off_are_found() {
    let (lab, id, directory) = subject();
    sql(&directory, "DELETE FROM events WHERE id > 6");
    let (expected, found) = (11, 6);
    let in_the = |place| Problem::Count {
        place,
        expected,
        found,
    };
    let found = problems(&lab, &id);
    assert_eq!(
        found,
        [in_the("the journal"), in_the("the index"), Problem::NoEnd]
    );
}

#[test]
fn a_row_that_was_added_with_the_right_hash_is_found() {
    let (lab, id, directory) = subject();
    let connection = Connection::open(directory.join("session.db")).unwrap();
    let (last, head) = database::last(&connection).unwrap().unwrap();
    let event = Event {
        id: last + 1,
        time_ns: 1,
        act: dns("added.example.com"),
        decision: allow(),
    };
    let json = serde_json::to_string(&event).unwrap();
    let hash = chain::link(&head, json.as_bytes());
    let mut statement = database::insertion(&connection).unwrap();
    database::insert(&mut statement, &event, &json, &hash).unwrap();
    let (expected, found) = (11, 12);
    for place in ["the journal", "the index"] {
        assert!(problems(&lab, &id).contains(&Problem::Count {
            place,
            expected,
            found
        }));
    }
}

#[test]
fn a_row_that_was_put_in_between_is_found() {
    let (lab, id, directory) = subject();
    sql(
        &directory,
        "UPDATE events SET id = -id WHERE id > 5; UPDATE events SET id = 1 - id WHERE id < 0;
         INSERT INTO events SELECT 6, time_ns, boundary, verdict, rule, origin, resource, remedy,
         event, hash FROM events WHERE id = 5",
    );
    assert_eq!(problems(&lab, &id)[0], Problem::Row(6));
}

#[test]
fn a_chain_that_was_computed_anew_is_found() {
    let (lab, id, directory) = subject();
    let connection = Connection::open(directory.join("session.db")).unwrap();
    connection
        .execute_batch("DROP TRIGGER events_are_not_changed")
        .unwrap();
    let mut head = chain::genesis(&id);
    for row in 1..=11 {
        let json: String = connection
            .query_row("SELECT event FROM events WHERE id = ?1", [row], |r| {
                r.get(0)
            })
            .unwrap();
        let json = json.replace("3.example.com", "9.example.com");
        head = chain::link(&head, json.as_bytes());
        connection
            .execute(
                "UPDATE events SET event = ?1, hash = ?2, resource = replace(resource, '3.e', '9.e')
                 WHERE id = ?3",
                params![json, head.as_slice(), row],
            )
            .unwrap();
    }
    connection
        .execute_batch(
            database::STEPS[0][database::STEPS[0].find("CREATE TRIGGER").unwrap()..]
                .split_once("CREATE TRIGGER events_are_not_removed")
                .unwrap()
                .0,
        )
        .unwrap();
    let head = |place| Problem::Head { place };
    assert_eq!(
        problems(&lab, &id),
        [head("the journal"), head("the index")]
    );
}

#[test]
fn triggers_that_were_dropped_are_found() {
    let (lab, id, directory) = subject();
    let connection = Connection::open(directory.join("session.db")).unwrap();
    connection
        .execute_batch("DROP TRIGGER events_are_not_changed")
        .unwrap();
    assert_eq!(problems(&lab, &id), [Problem::Schema]);
}

#[test]
fn a_journal_that_is_gone_is_found() {
    let (lab, id, directory) = subject();
    std::fs::remove_file(directory.join("journal")).unwrap();
    assert_eq!(problems(&lab, &id), [Problem::Journal(Damage::NoHeader)]);
}

#[test]
fn a_torn_journal_is_found_after_it_was_replayed_too() {
    let lab = Lab::new();
    let id = lab.closed(10);
    let path = lab.state.sessions().join(id.as_str()).join("journal");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[crate::layout::HEADER + 1000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let reader = lab.reader(&id);
    assert!(reader.damage().is_some());
    let kept = reader.events(&crate::Filter::default()).unwrap();
    assert!((1..10).contains(&kept.len()), "the rows before it are kept");
    for _ in 0..2 {
        let found = problems(&lab, &id);
        assert!(
            found.iter().any(|p| matches!(p, Problem::Journal(_))),
            "{found:?}"
        );
        let counted = |p: &Problem| {
            matches!(
                p,
                Problem::Count {
                    place: "the journal",
                    ..
                }
            )
        };
        assert!(found.iter().any(counted), "{found:?}");
    }
}

#[test]
fn an_index_that_was_edited_is_found() {
    let edited = |edit: &dyn Fn(&str) -> String| {
        let (lab, id, _) = subject();
        let text = std::fs::read_to_string(lab.state.index()).unwrap();
        let new = edit(&text);
        assert_ne!(text, new);
        std::fs::write(lab.state.index(), new).unwrap();
        problems(&lab, &id)
    };
    let lines = |keep: fn(&&str) -> bool| {
        move |text: &str| text.split_inclusive('\n').filter(keep).collect::<String>()
    };
    let head = |text: &str| text.replace("\"head\":\"", "\"head\":\"0");
    assert_eq!(edited(&head), [Problem::Head { place: "the index" }]);
    let rows = |text: &str| text.replace("\"rows\":11", "\"rows\":10");
    let (place, expected, found) = ("the index", 10, 11);
    assert_eq!(
        edited(&rows),
        [Problem::Count {
            place,
            expected,
            found
        }]
    );
    assert_eq!(
        edited(&lines(|l| !l.contains("close"))),
        [Problem::NoAnchor]
    );
    assert_eq!(edited(&lines(|l| !l.contains("start"))), [Problem::NoStart]);
    let twice = |text: &str| format!("{text}{}", text.replace("\"exit\":null", "\"exit\":0"));
    assert_eq!(edited(&twice), [Problem::TwoAnchors]);
}

#[test]
fn every_problem_is_told_in_words() {
    let (lab, id, directory) = subject();
    sql(&directory, "DELETE FROM events WHERE id BETWEEN 4 AND 6");
    let text = lab.verify(&id).to_string();
    assert!(
        text.starts_with("damaged: 8 rows\n  rows 4 to 6 are missing"),
        "{text}"
    );
}
