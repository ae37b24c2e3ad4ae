use super::*;
use crate::layout::COMMITTED;
use crate::testing::{Lab, allow, dns};
use bailiwick_event::SessionId;
use proptest::prelude::*;
use std::fs::OpenOptions;
use std::path::PathBuf;

/// A journal of a dead session, and what it holds.
fn journal(rows: usize) -> (Lab, SessionId, PathBuf, Vec<Event>) {
    let lab = Lab::new();
    let ledger = lab.session();
    let events = (0..rows)
        .map(|i| {
            ledger
                .record(dns(format!("{i}.example.com")), allow())
                .unwrap()
        })
        .collect();
    let path = ledger.directory().join("journal");
    let id = ledger.id().clone();
    (lab, id, path, events)
}

fn read(path: &Path, id: &SessionId) -> (Vec<Event>, Option<Damage>) {
    match view(path).unwrap() {
        Ok(view) => {
            let (rows, damage) = view.rows_after(0, &chain::genesis(id));
            (rows.into_iter().map(|r| r.event).collect(), damage)
        }
        Err(damage) => (Vec::new(), Some(damage)),
    }
}

fn write(path: &Path, at: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, at).unwrap();
}

#[test]
fn a_whole_journal_gives_every_row() {
    let (_lab, id, path, events) = journal(20);
    assert_eq!(read(&path, &id), (events, None));
}

#[test]
fn rows_of_another_session_are_no_rows_of_this_one() {
    let (_lab, _, path, _) = journal(3);
    let other = SessionId::new(5, 5);
    assert_eq!(
        read(&path, &other),
        (Vec::new(), Some(Damage::Chain { row: 1 }))
    );
}

#[test]
fn what_is_wrong_is_told() {
    let (_lab, id, path, events) = journal(5);
    let whole = std::fs::read(&path).unwrap();
    let first = Frame::parse(&whole[HEADER..]).unwrap().len;
    let committed = u64::from_le_bytes(whole[COMMITTED..COMMITTED + 8].try_into().unwrap());

    write(&path, (HEADER + first) as u64, &[0xff; 4]);
    let torn = Damage::Torn {
        position: first as u64,
    };
    assert_eq!(read(&path, &id), (events[..1].to_vec(), Some(torn)));

    std::fs::write(&path, &whole[..HEADER + committed as usize - 8]).unwrap();
    let (rows, damage) = read(&path, &id);
    assert_eq!(
        (rows, damage),
        (events[..4].to_vec(), Some(Damage::Short { missing: 8 }))
    );

    std::fs::write(&path, &whole).unwrap();
    write(&path, COMMITTED as u64, &(u64::MAX - 7).to_le_bytes());
    assert_eq!(read(&path, &id), (Vec::new(), Some(Damage::Header)));

    std::fs::write(&path, &whole).unwrap();
    write(
        &path,
        crate::layout::DRAINED as u64,
        &(first as u64).to_le_bytes(),
    );
    let gap = Damage::Gap {
        expected: 1,
        found: 2,
    };
    assert_eq!(read(&path, &id), (Vec::new(), Some(gap)));

    for nothing in [&b""[..], b"BW", &[0; 8192]] {
        std::fs::write(&path, nothing).unwrap();
        assert_eq!(read(&path, &id), (Vec::new(), Some(Damage::NoHeader)));
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(read(&path, &id), (Vec::new(), Some(Damage::NoHeader)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn corruption_never_invents_a_row(
        writes in prop::collection::vec((0..HEADER as u64 + 4000, prop::collection::vec(any::<u8>(), 1..40)), 0..6),
        cut in prop::option::of(0..HEADER as u64 + 4000),
    ) {
        let (_lab, id, path, events) = journal(10);
        for (at, bytes) in &writes {
            write(&path, *at, bytes);
        }
        if let Some(len) = cut {
            OpenOptions::new().write(true).open(&path).unwrap().set_len(len).unwrap();
        }
        let (rows, damage) = read(&path, &id);
        prop_assert!(events.starts_with(&rows), "{rows:?}");
        if writes.is_empty() && cut.is_none() {
            prop_assert_eq!((rows.len(), damage), (events.len(), None));
        }
    }

    #[test]
    fn noise_behind_a_good_header_is_no_row(noise: Vec<u8>) {
        let (_lab, id, path, _) = journal(1);
        write(&path, HEADER as u64, &noise.repeat(8));
        let len = (noise.len() * 8) as u64;
        write(&path, COMMITTED as u64, &len.to_le_bytes());
        let (rows, damage) = read(&path, &id);
        prop_assert_eq!(rows, Vec::new());
        prop_assert_eq!(damage.is_some(), len > 0);
    }
}
