use super::*;
use proptest::prelude::*;

#[test]
fn a_part_stands_for_every_name_but_some() {
    let glob = PathGlob::new("a/!(b|c*|.d)/x").unwrap();
    for (path, expected) in [
        ("a/e/x", true),
        ("a/bb/x", true),
        ("a/b/x", false),
        ("a/cc/x", false),
        ("a/.d/x", false),
        ("a/x", false),
        ("a/e/f/x", false),
    ] {
        assert_eq!(glob.is_match(path), expected, "{path}");
    }
    assert!(PathGlob::new("!(a)").unwrap().is_match(".a"));
    for wrong in ["!(a", "!(a)b", "!(a|(b))", "**/!(a)", "!(a/b)"] {
        assert!(PathGlob::new(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_class_stands_for_one_character_of_a_name() {
    for (glob, path, expected) in [
        ("a[!b]c", "axc", true),
        ("a[!b]c", "a/c", false),
        ("a[^b]c", "a/c", false),
        ("a[+-9]c", "a/c", false),
        ("a[+-9]c", "a.c", true),
        ("a[+-9]c", "a-c", true),
        ("a[+-9]c", "a5c", true),
        ("[!]]", "]", false),
        ("[!]]", "/", false),
        ("[!+--]", ".", true),
        ("[!a-]", "-", false),
        ("[ -~]", "^", true),
        ("[ -~]", "]", true),
        ("[ -~]", "!", true),
        ("[ -~]", "/", false),
        // Not a class.
        (r"\[!b]", "[!b]", true),
        (r"\[!b]", "/", false),
    ] {
        let matched = PathGlob::new(glob).unwrap().is_match(path);
        assert_eq!(matched, expected, "{glob} {path}");
    }
}

#[test]
fn a_slash_in_a_class_is_a_mistake() {
    for glob in ["[/]", "a[b/c]", "[!/]", "[+-/]", "[/-9]"] {
        let message = PathGlob::new(glob).unwrap_err();
        assert!(message.contains("never for `/`"), "{glob}: {message}");
    }
    for glob in ["[a", "[9-+]"] {
        PathGlob::new(glob).unwrap_err();
    }
}

/// A part of a pattern.
#[derive(Clone, Debug)]
enum Piece {
    Is(char),
    One,
    Any,
    Class(bool, Vec<(char, char)>),
}

impl Piece {
    fn text(&self) -> String {
        match self {
            Self::Is(c) => c.to_string(),
            Self::One => "?".to_owned(),
            Self::Any => "*".to_owned(),
            Self::Class(negated, ranges) => {
                let ranges: String = ranges.iter().map(|(a, b)| format!("{a}-{b}")).collect();
                format!("[{}{ranges}]", if *negated { "!" } else { "" })
            }
        }
    }

    fn is(&self, c: u8) -> bool {
        match self {
            Self::Is(only) => *only as u8 == c,
            Self::One | Self::Any => true,
            Self::Class(negated, ranges) => {
                let c = char::from(c);
                ranges.iter().any(|(a, b)| *a <= c && c <= *b) != *negated
            }
        }
    }
}

/// Whether the pieces match a name: one character after the other.
fn name_matches(pieces: &[Piece], name: &[u8]) -> bool {
    match (pieces.split_first(), name.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((Piece::Any, pieces)), None) => name_matches(pieces, name),
        (Some((Piece::Any, others)), Some((_, rest))) => {
            name_matches(others, name) || name_matches(pieces, rest)
        }
        (Some(_), None) => false,
        (Some((piece, pieces)), Some((c, rest))) => piece.is(*c) && name_matches(pieces, rest),
    }
}

/// Whether the parts match the names: one after the other. None: `**`, any folders.
fn matches(parts: &[Option<Vec<Piece>>], names: &[&str]) -> bool {
    match (parts.split_first(), names.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((None, [])), rest) => rest.is_some(),
        (Some((None, others)), rest) => {
            matches(others, names) || rest.is_some_and(|(_, names)| matches(parts, names))
        }
        (Some((Some(_), _)), None) => false,
        (Some((Some(part), parts)), Some((name, names))) => {
            name_matches(part, name.as_bytes()) && matches(parts, names)
        }
    }
}

fn some_piece() -> impl Strategy<Value = Piece> {
    let character = || prop::sample::select("+,-.09:[]^!ab".chars().collect::<Vec<_>>());
    // What a range that is written `a-b` means is known where neither end means more than itself.
    let end = || prop::sample::select("+,.09:\\_ab~ ".chars().collect::<Vec<_>>());
    let range = (end(), end()).prop_map(|(a, b)| (a.min(b), a.max(b)));
    prop_oneof![
        character()
            .prop_filter("means more", |c| !"[]!^".contains(*c))
            .prop_map(Piece::Is),
        Just(Piece::One),
        Just(Piece::Any),
        (any::<bool>(), prop::collection::vec(range, 1..4))
            .prop_map(|(negated, ranges)| Piece::Class(negated, ranges)),
    ]
}

/// Pieces without two stars side by side, which would be another thing.
fn some_part() -> impl Strategy<Value = Option<Vec<Piece>>> {
    let part = prop::collection::vec(some_piece(), 1..5).prop_map(|mut pieces| {
        pieces.dedup_by(|a, b| matches!((a, b), (Piece::Any, Piece::Any)));
        Some(pieces)
    });
    prop_oneof![5 => part, 1 => Just(None)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_glob_matches_name_by_name(
        parts in prop::collection::vec(some_part(), 1..4),
        path in "[-+,.09:!^ab\\]\\[]{1,3}(/[-+,.09:!^ab\\]\\[]{1,3}){0,3}",
    ) {
        let part = |part: &Option<Vec<Piece>>| match part {
            Some(pieces) => pieces.iter().map(Piece::text).collect::<String>(),
            None => "**".to_owned(),
        };
        let text: Vec<String> = parts.iter().map(part).collect();
        let text = text.join("/");
        let names: Vec<&str> = path.split('/').collect();
        let glob = PathGlob::new(&text).unwrap();
        prop_assert_eq!(glob.is_match(&path), matches(&parts, &names), "{} {}", text, path);
    }
}
