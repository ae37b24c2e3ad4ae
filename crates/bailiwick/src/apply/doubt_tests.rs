use super::super::repositories::repositories;
use super::*;
use std::path::PathBuf;

fn listing(entries: &[(&str, Kind)]) -> Listing {
    let entry = |(path, kind): &(&str, Kind)| {
        let path = path.as_bytes().to_vec();
        let entry = Entry {
            path: path.clone(),
            kind: kind.clone(),
            mode: 0o644,
            modified: (0, 0),
        };
        (path, entry)
    };
    Listing(entries.iter().map(entry).collect())
}

fn file(size: u64) -> Kind {
    Kind::File { size }
}

fn link() -> Kind {
    let target = b"x".to_vec();
    Kind::Link { target }
}

/// What is taken of the changes from one listing to another, and what is left of them.
fn taken(
    before: &[(&str, Kind)],
    after: &[(&str, Kind)],
    forced: &[&str],
) -> (Vec<(String, Doubt)>, Vec<String>) {
    let (before, after) = (listing(before), listing(after));
    let forced: Vec<PathBuf> = forced.iter().map(PathBuf::from).collect();
    let forced = Forced::of(&forced, Path::new("/work")).unwrap();
    let mut changes = bailiwick_transfer::compare(&before, &after);
    // Contents differ where sizes do not.
    for path in before.0.keys().filter(|path| after.0.contains_key(*path)) {
        changes.insert(path.clone(), Change::Changed);
    }
    let text = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
    let git = repositories(&before, &after);
    let taken = take(&mut changes, &before, &after, &git, &forced);
    let taken = taken.iter().map(|(path, _, doubt)| (text(path), *doubt));
    (
        taken.collect(),
        changes.keys().map(|path| text(path)).collect(),
    )
}

#[test]
fn what_is_gone_empty_shorter_or_something_else_is_left() {
    let before = [
        ("became-link", file(5)),
        ("empty", file(5)),
        ("folder", Kind::Folder),
        ("gone", file(5)),
        ("longer", file(5)),
        ("same", file(5)),
        ("shorter", file(5)),
        ("was-empty", file(0)),
    ];
    let after = [
        ("became-link", link()),
        ("empty", file(0)),
        ("folder", file(9)),
        ("longer", file(6)),
        ("new", file(1)),
        ("new-empty", file(0)),
        ("new-link", link()),
        ("same", file(5)),
        ("shorter", file(4)),
        ("was-empty", file(0)),
    ];
    let (left, brought) = taken(&before, &after, &[]);
    let expected = [
        ("became-link", Doubt::Other),
        ("empty", Doubt::Empty),
        ("folder", Doubt::Other),
        ("gone", Doubt::Gone),
        ("new-empty", Doubt::Empty),
        ("shorter", Doubt::Shorter),
    ];
    assert_eq!(left, expected.map(|(path, doubt)| (path.to_owned(), doubt)));
    assert_eq!(brought, ["longer", "new", "new-link", "same", "was-empty"]);
}

#[test]
fn what_lies_in_something_that_is_left_is_left_too() {
    let before = [("a", file(5))];
    let after = [("a", Kind::Folder), ("a/b", file(7)), ("ab", file(7))];
    let (left, brought) = taken(&before, &after, &[]);
    assert_eq!(
        left,
        [
            ("a".to_owned(), Doubt::Other),
            ("a/b".to_owned(), Doubt::Below)
        ]
    );
    assert_eq!(brought, ["ab"]);
}

#[test]
fn repositories_are_whole_or_left_wherever_they_are() {
    let after = [
        (".git", Kind::Folder),
        (".git/index", file(9)),
        ("bare", Kind::Folder),
        ("bare/HEAD", file(9)),
        ("bare/objects", Kind::Folder),
        ("bare/objects/ab", file(9)),
        ("src", file(9)),
        ("sub/.git", file(9)),
        ("sub/.github/x", file(9)),
        ("talk/HEAD", file(9)),
    ];
    let (left, brought) = taken(&[], &after, &[]);
    let left: Vec<&str> = left.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        left,
        [
            ".git",
            ".git/index",
            "bare",
            "bare/HEAD",
            "bare/objects",
            "bare/objects/ab",
            "sub/.git"
        ]
    );
    assert_eq!(brought, ["src", "sub/.github/x", "talk/HEAD"]);
}

#[test]
fn what_is_forced_is_brought_and_nothing_beside_it() {
    let before = [("a/b", file(5)), ("a/c", file(5)), ("ab", file(5))];
    let (left, brought) = taken(&before, &[], &["a/b"]);
    assert_eq!((left.len(), brought), (2, vec!["a/b".to_owned()]));
    let (left, brought) = taken(&before, &[], &["/work/a"]);
    assert_eq!((left.len(), brought.len()), (1, 2));
    let (left, _) = taken(&before, &[], &["."]);
    assert_eq!(left, []);
    for elsewhere in ["/etc", "../x", "a/../../x", "/work/../etc"] {
        let named = [PathBuf::from(elsewhere)];
        let said = Forced::of(&named, Path::new("/work")).unwrap_err();
        assert!(said.to_string().contains("--force"), "{said}");
    }
}
