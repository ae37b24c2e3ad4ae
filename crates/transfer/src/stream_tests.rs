use super::*;
use crate::unpack::What;
use proptest::prelude::*;

fn any_entry() -> impl Strategy<Value = Entry> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    let kind = prop_oneof![
        Just(Kind::Folder),
        any::<u64>().prop_map(|size| Kind::File { size }),
        bytes().prop_map(|target| Kind::Link { target }),
        Just(Kind::Gone),
        any::<i32>().prop_map(|errno| Kind::Skipped { errno }),
    ];
    let path = "[a-c]{1,3}(/[a-c]{1,3}){0,3}|";
    (path, kind, any::<u32>(), any::<(i64, u32)>()).prop_map(|(path, kind, mode, modified)| Entry {
        path: path.into_bytes(),
        kind,
        mode,
        modified,
    })
}

/// An entry, what follows it in parts, and why it ended early.
type Piece = (Entry, Vec<Vec<u8>>, Option<i32>);

fn any_pieces() -> impl Strategy<Value = Vec<Piece>> {
    let parts = prop::collection::vec(prop::collection::vec(any::<u8>(), 1..50), 0..4);
    prop::collection::vec((any_entry(), parts, any::<Option<i32>>()), 0..6)
}

fn written(pieces: &[Piece]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for (entry, parts, back) in pieces {
        writer.entry(entry).unwrap();
        if matches!(entry.kind, Kind::File { .. }) {
            parts.iter().for_each(|part| writer.part(part).unwrap());
            match back {
                None => writer.whole().unwrap(),
                Some(errno) => writer.taken_back(*errno).unwrap(),
            }
        }
    }
    writer.end().unwrap();
    writer.0
}

/// Everything that bytes say, with the contents.
fn read(bytes: &[u8]) -> io::Result<Vec<Piece>> {
    let (mut reader, mut all) = (Reader::new(bytes), Vec::new());
    while let Some(entry) = reader.entry()? {
        let mut parts = Vec::new();
        let back = loop {
            match reader.next_part()? {
                Part::Bytes(part) => parts.push(part.to_vec()),
                Part::Whole => break None,
                Part::TakenBack(errno) => break Some(errno),
            }
        };
        all.push((entry, parts, back));
    }
    assert!(
        reader.into_inner().is_empty(),
        "what follows the end is not read"
    );
    Ok(all)
}

proptest! {
    #[test]
    fn what_is_written_is_read(pieces in any_pieces()) {
        let mut expected = pieces.clone();
        for (entry, parts, back) in &mut expected {
            if !matches!(entry.kind, Kind::File { .. }) {
                (*parts, *back) = (Vec::new(), None);
            }
        }
        prop_assert_eq!(read(&written(&pieces)).unwrap(), expected);
    }

    #[test]
    fn contents_that_nobody_reads_are_passed_over(pieces in any_pieces()) {
        let bytes = written(&pieces);
        let mut reader = Reader::new(bytes.as_slice());
        for (entry, ..) in &pieces {
            prop_assert_eq!(reader.entry().unwrap(), Some(entry.clone()));
        }
        prop_assert_eq!(reader.entry().unwrap(), None);
    }

    #[test]
    fn a_stream_that_was_cut_is_an_error_and_never_the_end(pieces in any_pieces(), at in any::<prop::sample::Index>()) {
        let bytes = written(&pieces);
        let error = read(&bytes[..at.index(bytes.len())]).unwrap_err();
        prop_assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(pieces) = read(&bytes) {
            prop_assert_eq!(read(&written(&pieces)).unwrap(), pieces);
        }
    }
}

fn refused(bytes: &[u8]) -> String {
    let error = Reader::new(bytes).entry().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    error.to_string()
}

fn entry(path: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Writer::new(&mut bytes).entry(&Entry::gone(path)).unwrap();
    bytes
}

#[test]
fn a_length_is_not_believed() {
    let over = u32::try_from(ENTRY).unwrap() + 1;
    for length in [over, u32::MAX, 1 << 31] {
        assert_eq!(refused(&length.to_le_bytes()), "a length that nothing has");
    }
    assert_eq!(refused(&[0; 4]), "no entry");
    // A path that says that it has 2^63 bytes.
    let mut inside = vec![10, 0, 0, 0];
    inside.extend([0xff; 9]);
    inside.push(0x7f);
    assert_eq!(refused(&inside), "no entry");
}

#[test]
fn an_entry_says_nothing_besides() {
    let mut bytes = entry(b"a");
    bytes[0] += 1;
    bytes.push(0);
    assert_eq!(refused(&bytes), "no entry");
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    for path in [
        &b"/etc"[..],
        b"..",
        b"a/../..",
        b"a//b",
        b"a\0b",
        b"./a",
        b"a/",
    ] {
        assert_eq!(refused(&entry(path)), "a path that leads elsewhere");
        let outcome = Outcome {
            path: path.to_vec(),
            what: What::Done,
        };
        let mut bytes = Vec::new();
        Writer::new(&mut bytes).outcome(&outcome).unwrap();
        let error = Reader::listing(bytes.as_slice()).outcome().unwrap_err();
        assert_eq!(error.to_string(), "a path that leads elsewhere");
    }
}

#[test]
fn a_part_is_not_longer_than_parts_are() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    let file = Entry::bare(b"a", Kind::File { size: 0 });
    writer.entry(&file).unwrap();
    writer.part(&[1; PART]).unwrap();
    assert!(writer.part(&[1; PART + 1]).is_err());
    writer.piece(&[1; PART + 1]).unwrap();
    let mut reader = Reader::new(bytes.as_slice());
    assert_eq!(reader.entry().unwrap(), Some(file));
    assert_eq!(reader.next_part().unwrap(), Part::Bytes(&[1; PART]));
    assert_eq!(
        reader.next_part().unwrap_err().to_string(),
        "a length that nothing has"
    );
}

#[test]
fn a_listing_has_no_contents() {
    let file = Entry::bare(b"a", Kind::File { size: 5 });
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    writer.entry(&file).unwrap();
    writer.end().unwrap();
    let mut reader = Reader::listing(bytes.as_slice());
    assert_eq!(reader.entry().unwrap(), Some(file));
    assert_eq!(reader.next_part().unwrap(), Part::Whole);
    assert_eq!(reader.entry().unwrap(), None);
}

#[test]
fn outcomes_are_read_up_to_the_end_of_the_stream() {
    let outcomes = [
        What::Done,
        What::Conflict,
        What::Refused(13),
        What::Unread(5),
    ]
    .map(|what| Outcome {
        path: b"a/b".to_vec(),
        what,
    });
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    outcomes
        .iter()
        .for_each(|outcome| writer.outcome(outcome).unwrap());
    let mut reader = Reader::listing(bytes.as_slice());
    for outcome in outcomes {
        assert_eq!(reader.outcome().unwrap(), Some(outcome));
    }
    assert_eq!(reader.outcome().unwrap(), None);
}
