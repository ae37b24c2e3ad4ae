use super::*;
use crate::testing::{allow, deny, dns};
use tempfile::TempDir;

fn event(id: u64) -> Event {
    Event {
        id,
        time_ns: 7 * id,
        act: dns("a.example.com"),
        decision: if id.is_multiple_of(2) {
            deny()
        } else {
            allow()
        },
    }
}

fn fill(connection: &Connection, ids: std::ops::RangeInclusive<u64>) {
    let mut statement = insertion(connection).unwrap();
    for id in ids {
        let event = event(id);
        let json = serde_json::to_string(&event).unwrap();
        insert(&mut statement, &event, &json, &[id as u8; 32]).unwrap();
    }
}

#[test]
fn a_database_of_version_1_is_brought_to_the_present_and_keeps_its_rows() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("session.db");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(STEPS[0]).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    fill(&old, 1..=3);
    drop(old);

    let new = open_to_write(&path).unwrap();
    assert_eq!(schema_version(&new).unwrap(), STEPS.len() as i64);
    assert_eq!(
        schema(&new).unwrap(),
        expected_schema(STEPS.len() as i64).unwrap()
    );
    fill(&new, 4..=4);
    assert_eq!(last(&new).unwrap(), Some((4, [4; 32])));
    let ids: i64 = new
        .query_row("SELECT sum(id) FROM events", [], |r| r.get(0))
        .unwrap();
    assert_eq!(ids, 10);
}

#[test]
fn a_database_of_a_newer_version_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("session.db");
    let newer = open_to_write(&path).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let before = std::fs::read(&path).unwrap();
    for result in [open_to_write(&path).map(Some), open_to_read(&path)] {
        assert!(matches!(
            result,
            Err(LedgerError::Newer { version: 99, .. })
        ));
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn rows_are_neither_changed_nor_removed_nor_replaced() {
    let folder = TempDir::new().unwrap();
    let connection = open_to_write(&folder.path().join("session.db")).unwrap();
    fill(&connection, 1..=2);
    for statement in [
        "UPDATE events SET verdict = 'allow'",
        "DELETE FROM events WHERE id = 2",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events SELECT 1, 0, '', '', '', '', '', '', '', x'00'",
    ] {
        let error = connection.execute(statement, []).unwrap_err();
        assert!(
            error.to_string().contains("append-only"),
            "{statement}: {error}"
        );
    }
    assert_eq!(last(&connection).unwrap(), Some((2, [2; 32])));
}

#[test]
fn a_reader_cannot_write() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("session.db");
    assert!(open_to_read(&path).unwrap().is_none());
    drop(open_to_write(&path).unwrap());
    let reader = open_to_read(&path).unwrap().unwrap();
    assert!(set_value(&reader, "a", "b").is_err());
}

#[test]
fn what_is_no_database_is_an_error() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("session.db");
    std::fs::write(
        &path,
        "this is no database, however long it may be".repeat(100),
    )
    .unwrap();
    assert!(matches!(
        open_to_read(&path),
        Err(LedgerError::Database { .. })
    ));
    assert!(matches!(
        open_to_write(&path),
        Err(LedgerError::Database { .. })
    ));
}
