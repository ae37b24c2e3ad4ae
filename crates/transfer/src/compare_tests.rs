use super::*;
use crate::tree::sent;
use proptest::prelude::*;

fn any_listing() -> impl Strategy<Value = Listing> {
    let kind = prop_oneof![
        3 => Just(Kind::Folder),
        3 => (0..2_u64).prop_map(|size| Kind::File { size }),
        1 => Just(Kind::Link { target: b"x".to_vec() }),
        1 => Just(Kind::Skipped { errno: 13 }),
    ];
    let entry = (kind, 0..2_u32, 0..2_i64);
    let path = "([ab!](/[ab]){0,2})?";
    prop::collection::btree_map(path, entry, 0..12).prop_map(|entries| {
        let entry = |(path, (kind, mode, time)): (String, (Kind, u32, i64))| {
            let mut entry = Entry::bare(path.as_bytes(), kind);
            (entry.mode, entry.modified) = (mode, (time, 0));
            (path.into_bytes(), entry)
        };
        Listing(entries.into_iter().map(entry).collect())
    })
}

/// What became of one path, slowly.
fn change(before: &Listing, after: &Listing, path: &[u8]) -> Option<Change> {
    let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    for length in 0..=parts.len() {
        let above = parts[..length].join(&b'/');
        for listing in [before, after] {
            if matches!(
                listing.0.get(&above).map(|e| &e.kind),
                Some(Kind::Skipped { .. })
            ) {
                return None;
            }
        }
    }
    match (before.0.get(path), after.0.get(path)) {
        (None, None) => None,
        (None, Some(_)) => Some(Change::Added),
        (Some(_), None) => Some(Change::Gone),
        (Some(then), Some(now)) => (!now.is_as(then)).then_some(Change::Changed),
    }
}

proptest! {
    #[test]
    fn two_listings_are_compared_path_by_path(before in any_listing(), after in any_listing()) {
        let found = compare(&before, &after);
        for path in before.0.keys().chain(after.0.keys()) {
            prop_assert_eq!(found.get(path).copied(), change(&before, &after, path), "{:?}", path);
        }
        prop_assert!(found.keys().all(|path| before.0.contains_key(path) || after.0.contains_key(path)));
        prop_assert!(compare(&after, &after).is_empty());
    }
}

fn read(bytes: &[u8]) -> Listing {
    Listing::read(bytes).unwrap()
}

#[test]
fn what_lies_in_a_folder_that_cannot_be_read_is_not_gone() {
    let before = read(
        &sent()
            .folder("")
            .folder("d")
            .folder("d/e")
            .folder("d-f")
            .end(),
    );
    let after = read(
        &sent()
            .folder("")
            .entry("d", Kind::Skipped { errno: 5 })
            .end(),
    );
    let changes: Vec<_> = compare(&before, &after).into_iter().collect();
    assert_eq!(changes, [(b"d-f".to_vec(), Change::Gone)]);
    let nothing = read(&sent().entry("", Kind::Skipped { errno: 5 }).end());
    assert!(compare(&before, &nothing).is_empty());
}

#[test]
fn the_last_word_about_a_path_counts() {
    let twice = read(
        &sent()
            .folder("a")
            .entry("a", Kind::Skipped { errno: 5 })
            .end(),
    );
    assert!(matches!(
        twice.0[&b"a"[..]].kind,
        Kind::Skipped { errno: 5 }
    ));
    assert_eq!(twice.0.len(), 1);
}

#[test]
fn a_listing_is_only_as_long_as_there_is_room() {
    let bytes = |count: usize| {
        let all = (0..count).fold(sent(), |sent, at| {
            sent.link(&format!("{at:03}"), "0123456789")
        });
        all.end()
    };
    let each = size_of::<(Vec<u8>, Entry)>() + ALLOCATIONS + 3 + 3 + 10;
    let read = |count| {
        Listing::within(
            Room(10 * each),
            &mut Reader::listing(bytes(count).as_slice()),
        )
    };
    assert_eq!(read(10).unwrap().0.len(), 10);
    let error = read(11).unwrap_err().to_string();
    assert!(error.contains("256 MiB"), "{error}");
}

#[test]
fn a_million_files_have_room_and_the_longest_paths_take_as_much() {
    let taken = |path: usize, target: usize| {
        let target = vec![b'a'; target];
        let entry = Entry::bare(&vec![b'a'; path], Kind::Link { target });
        let mut room = Room::default();
        let count = (0..).take_while(|_| room.take(&entry).is_ok()).count();
        count * (2 * path + entry_target(&entry))
    };
    assert!(taken(60, 0) >= 1_000_000 * 2 * 60);
    assert!(taken(4095, 12_000) <= 256 << 20);
}

fn entry_target(entry: &Entry) -> usize {
    match &entry.kind {
        Kind::Link { target } => target.len(),
        _ => 0,
    }
}
