use super::super::Replacer;
use super::*;
use proptest::prelude::*;

/// Writes a character in one of the ways that are known.
fn written(character: u8, way: usize) -> String {
    let (n, c) = (u32::from(character), char::from(character));
    match way {
        0 => format!("%{n:02X}"),
        1 => format!("%{n:02x}"),
        2 => format!("\\u{n:04x}"),
        3 => format!("\\u{n:04X}"),
        4 => format!("&#{n};"),
        5 => format!("&#x{n:x};"),
        6 => format!("\\x{n:02x}"),
        7 => format!("\\{n:03o}"),
        8 => format!("\\\\u{n:04x}"),
        9 => format!("%25{n:02X}"),
        10 => format!("&amp;#{n};"),
        11 => format!("\\u{{{n:x}}}"),
        12 if character.is_ascii_punctuation() => format!("\\{c}"),
        _ => c.to_string(),
    }
}

const WAYS: usize = 24;

fn spell(text: &str, ways: &[usize]) -> String {
    let ways = ways.iter().cycle();
    text.bytes()
        .zip(ways)
        .map(|(c, way)| written(c, *way))
        .collect()
}

/// What stands for a text: its marks stay where they are.
fn turned(text: &str) -> String {
    let turn = |c: char| match c {
        '9' => '0',
        'z' => 'a',
        'Z' => 'A',
        c if c.is_ascii_alphanumeric() => char::from(c as u8 + 1),
        c => c,
    };
    text.chars().map(turn).collect()
}

/// What is left of a text that comes in parts of these sizes.
fn masked(from: &str, to: &str, text: &[u8], sizes: &[usize]) -> (Vec<u8>, u64) {
    let mut replacer = Replacer::new([(from, to)]).spelled(vec![Spelled::new(from, to)]);
    let (mut out, mut rest) = (Vec::new(), text);
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (part, after) = rest.split_at((*size).min(rest.len()));
        out.extend(replacer.part(part));
        assert_eq!(out.len() + replacer.waiting(), text.len() - after.len());
        rest = after;
    }
    out.extend(replacer.end());
    (out, replacer.take_count())
}

proptest! {
    #[test]
    fn a_secret_is_found_in_any_mixture_and_in_any_parts(
        from in "[!-~]{12,40}".prop_filter("letters", |from| from != &turned(from)),
        ways in proptest::collection::vec(0..WAYS, 1..40),
        sizes in proptest::collection::vec(1usize..30, 1..20),
        before in r#"[a-z%\\&; ]{0,20}"#,
        after in r#"[a-z%\\&; ]{0,20}"#,
    ) {
        let spelled = spell(&from, &ways);
        let to = turned(&from);
        // What stands in front can be part of how the first character is written.
        let text = format!("{before}.{spelled}\n{after}");
        let (out, count) = masked(&from, &to, text.as_bytes(), &sizes);
        prop_assert_eq!(out.len(), text.len());
        prop_assert!(count > 0, "{}", text);
        let (again, left) = masked(&from, &to, &out, &[usize::MAX]);
        prop_assert_eq!(left, 0, "{}", String::from_utf8_lossy(&again));
        let whole = masked(&from, &to, text.as_bytes(), &[usize::MAX]).0;
        prop_assert_eq!(out, whole);
    }

    #[test]
    fn what_holds_no_secret_passes_as_it_is(
        text in proptest::collection::vec(any::<u8>(), 0..300),
        marks in r#"[%\\&#;ux0-9a-f]{0,100}"#,
        sizes in proptest::collection::vec(1usize..30, 1..20),
    ) {
        let text = [text, marks.into_bytes()].concat();
        let (out, count) = masked("key-0123456789abcdef", "key-fedcba9876543210", &text, &sizes);
        prop_assert_eq!((out, count), (text, 0));
    }
}

#[test]
fn what_stands_for_it_is_written_as_it_was() {
    for (text, wanted) in [
        (
            "%6B%65%79%2D%76%61%6C%75%65%2D%31%32",
            "%6B%65%79%2D%6F%74%68%65%72%2D%33%34",
        ),
        ("k\\u0065y-valu&#101;-12", "k\\u0065y-othe&#114;-34"),
        ("key-value-1&#50", "key-other-3&#52"),
    ] {
        for size in [1, 2, 3, usize::MAX] {
            let (out, count) = masked("key-value-12", "key-other-34", text.as_bytes(), &[size]);
            assert_eq!(
                (String::from_utf8(out).unwrap().as_str(), count),
                (wanted, 1)
            );
        }
    }
}

#[test]
fn a_secret_with_marks_can_be_read_in_two_ways_and_is_found_in_both() {
    let (from, to) = ("p%2525&amp;\\\\u0041", "p%3636&amp;\\\\u0052");
    for way in 0..WAYS {
        let text = spell(from, &[way, 23, way]);
        let (out, count) = masked(from, to, text.as_bytes(), &[7]);
        assert!(count > 0 && out != text.as_bytes(), "{way} {text}");
    }
}

#[test]
fn a_beginning_that_both_have_waits_for_nobody() {
    let mut replacer = Replacer::new([("key-value-12", "key-other-34")])
        .spelled(vec![Spelled::new("key-value-12", "key-other-34")]);
    // At the place of the first character nothing can change.
    assert_eq!(replacer.part(b"50%"), b"50%");
    assert_eq!(replacer.part(b"6Bey-"), b"6Bey-");
    assert_eq!(replacer.part(b"%7"), b"");
    assert_eq!(replacer.waiting(), 2);
    assert_eq!(replacer.part(b"6alue-12"), b"%6Fther-34");
}
