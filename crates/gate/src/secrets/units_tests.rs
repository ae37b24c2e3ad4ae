use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Vec<(char, usize)> {
    let units = Units::of(text.as_bytes());
    let read = |unit: &Unit| (char::from(unit.character), unit.length());
    units.iter().map(read).collect()
}

#[test]
fn a_character_is_read_in_every_way_in_which_it_is_written() {
    for (text, character) in [
        ("%4b.", 'K'),
        ("%4B.", 'K'),
        ("%u004B.", 'K'),
        ("%25254B.", 'K'),
        ("\\u004b.", 'K'),
        ("\\\\u004b.", 'K'),
        ("\\u{4B}.", 'K'),
        ("\\x4b.", 'K'),
        ("\\x{04b}.", 'K'),
        ("\\U0000004b.", 'K'),
        ("\\113.", 'K'),
        ("\\/.", '/'),
        ("\\\\\\\".", '"'),
        ("&#75;.", 'K'),
        ("&#0075;.", 'K'),
        ("&#75.", 'K'),
        ("&#x4b;.", 'K'),
        ("&#X4B;.", 'K'),
        ("&amp;#75;.", 'K'),
        ("&quot;.", '"'),
        ("&amp;lt;.", '<'),
    ] {
        let whole = (character, text.len() - 1);
        assert!(read(text).contains(&whole), "{text} {:?}", read(text));
        // What is cut short could still become it.
        for cut in 1..text.len() - 1 {
            let units = Units::of(&text.as_bytes()[..cut]);
            assert!(units.open, "{}", &text[..cut]);
        }
    }
}

#[test]
fn what_stands_for_no_printable_character_is_none() {
    for text in [
        "%",
        "%g1",
        "%0a",
        "%80",
        "\\n",
        "\\u00e9",
        "\\u{110000}",
        "&#9;",
        "&#x1F600;",
        "&copy;",
        "& ",
        "x",
        "",
    ] {
        assert_eq!(read(text), [], "{text}");
    }
    assert!(!Units::of(b"%g1").open && !Units::of(b"\\n").open && !Units::of(b"& x").open);
}

#[test]
fn another_is_written_in_the_same_way_and_as_long() {
    for (text, wanted) in [
        ("%4b", "%7a"),
        ("%4B", "%7A"),
        ("%252D", "%257A"),
        ("\\u004B", "\\u007A"),
        ("\\113", "\\172"),
        ("&#0075;", "&#0122;"),
        ("&#x2d;", "&#x7a;"),
    ] {
        let units = Units::of(text.as_bytes());
        let unit = units
            .iter()
            .find(|unit| unit.length() == text.len())
            .unwrap();
        let mut bytes = text.as_bytes().to_vec();
        unit.write(&mut bytes, b'z');
        assert_eq!(String::from_utf8(bytes).unwrap(), wanted);
    }
    // Where a number has no room it is that of a digit.
    let mut bytes = b"&#53;".to_vec();
    Units::of(b"&#53;").found[0].write(&mut bytes, b'e');
    assert_eq!(bytes, b"&#49;");
}

proptest! {
    #[test]
    fn whatever_is_read_is_read_within_its_bytes(
        text in r#"[%\\&][%\\&;#25amp0-9a-fxuU{}]{0,40}"#,
    ) {
        for (character, length) in read(&text) {
            prop_assert!(character.is_ascii_graphic());
            prop_assert!(length <= text.len().min(32), "{length}");
        }
    }
}
