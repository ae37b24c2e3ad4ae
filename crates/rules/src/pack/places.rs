//! Where the bytes of a text stand in the file that wrote it, with its escapes.

use std::ops::Range;

/// The place in a file of each byte of a text that was read from a part of it, and of its end; none
/// where the text was written in a way that is not followed (on several lines, with escapes).
pub(super) fn places(file: &str, at: &Range<usize>, text: &str) -> Option<Vec<usize>> {
    let raw = file.get(at.clone())?;
    if let Some(offset) = raw.find(text) {
        let start = at.start + offset;
        return Some((start..=start + text.len()).collect());
    }
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    let mut places = Vec::with_capacity(text.len() + 1);
    let mut rest = text;
    let mut chars = inner.char_indices();
    while let Some((from, c)) = chars.next() {
        let written = match c {
            '\\' => escaped(&mut chars)?,
            c => c,
        };
        rest = rest.strip_prefix(written)?;
        places.extend(std::iter::repeat_n(at.start + 1 + from, written.len_utf8()));
    }
    places.push(at.end - 1);
    rest.is_empty().then_some(places)
}

/// The character that an escape stands for (TOML 1.1, *String*).
fn escaped(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    let digits = match chars.next()?.1 {
        'b' => return Some('\u{8}'),
        't' => return Some('\t'),
        'n' => return Some('\n'),
        'f' => return Some('\u{c}'),
        'r' => return Some('\r'),
        'e' => return Some('\u{1b}'),
        c @ ('"' | '\\') => return Some(c),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let number: String = chars.take(digits).map(|(_, digit)| digit).collect();
    char::from_u32(u32::from_str_radix(&number, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn each_byte_of_a_text_has_its_place_whatever_the_escapes() {
        let file = r#"when = "a == \"b\" && \u00e9é\\" # x"#;
        let text = "a == \"b\" && éé\\";
        let places = places(file, &(7..file.len() - 4), text).unwrap();
        assert_eq!(places.len(), text.len() + 1);
        let at = |part: &str| &file[places[text.find(part).unwrap()]..];
        assert!(at("a ==").starts_with("a =="));
        assert!(at("b\"").starts_with("b\\\""));
        assert!(at("&&").starts_with("&&"));
        assert!(at("éé").starts_with(r"\u00e9"));
        assert!(file[places[text.len()]..].starts_with("\" #"));
        // Two bytes of one character are one place.
        assert_eq!(places[12], places[13]);
    }

    #[test]
    fn what_is_written_on_several_lines_with_escapes_has_no_places() {
        let file = "\"\"\"a\\\n  b\"\"\"";
        assert_eq!(places(file, &(0..file.len()), "ab"), None);
        assert_eq!(places("'ab'", &(0..4), "ab"), Some(vec![1, 2, 3]));
        assert_eq!(places("\"a\"", &(0..9), "a"), None);
    }
}
