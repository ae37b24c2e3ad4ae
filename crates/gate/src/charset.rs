//! A body's bytes as text. Decision: whoever reads it may go by what its headers say, or by its first
//! bytes (as readers of JSON do, RFC 4627 §3); what is in two bytes a letter for one of them stands in
//! the text twice, as both read it, so that a rule finds it. What no reader of this kind is for is told
//! as that.

use hyper::header::{CONTENT_TYPE, HeaderMap};

/// A body as it is read.
pub(crate) struct Read {
    pub(crate) text: String,
    /// Whether it is UTF-8, or like it, and nothing else, so that it can be written again.
    pub(crate) plain: bool,
    /// Whether its letters cannot be told.
    pub(crate) strange: bool,
}

/// Charsets, by their beginning, in which the bytes of ASCII are other letters.
const STRANGE: [&str; 8] = [
    "utf-7", "utf7", "ibm", "cp0", "ebcdic", "x-ebcdic", "hz-gb", "iso-2022",
];

/// Bytes of a letter, and whether the last of them comes first.
#[derive(Clone, Copy)]
enum Wide {
    Two { little: bool },
    Four { little: bool },
}

/// Reads a body with these headers.
pub(crate) fn read(bytes: Vec<u8>, headers: &HeaderMap) -> Read {
    let said = charset(headers).unwrap_or_default();
    let wide = wide(&bytes, &said).map(|wide| decode(&bytes, wide));
    let text = String::from_utf8(bytes);
    let mut text = text.unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
    if let Some(wide) = &wide {
        text.push('\n');
        text.push_str(wide);
    }
    Read {
        text,
        plain: wide.is_none(),
        strange: STRANGE.iter().any(|strange| said.starts_with(strange)),
    }
}

/// The charset that headers name, in lower case.
fn charset(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    value.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let named = name.trim().eq_ignore_ascii_case("charset");
        let value = value.trim().trim_matches(['"', '\'']);
        named.then(|| value.to_ascii_lowercase())
    })
}

fn wide(bytes: &[u8], said: &str) -> Option<Wide> {
    let [two, four] = [["utf-16", "utf16", "ucs-2"], ["utf-32", "utf32", "ucs-4"]]
        .map(|names| names.iter().any(|name| said.contains(name)));
    let little = said.ends_with("le");
    match bytes {
        [0xff, 0xfe, 0, 0, ..] => Some(Wide::Four { little: true }),
        [0, 0, 0xfe, 0xff, ..] => Some(Wide::Four { little: false }),
        [0xff, 0xfe, ..] => Some(Wide::Two { little: true }),
        [0xfe, 0xff, ..] => Some(Wide::Two { little: false }),
        _ if four => Some(Wide::Four { little }),
        _ if two => Some(Wide::Two { little }),
        [0, 0, 0, _, ..] => Some(Wide::Four { little: false }),
        [_, 0, 0, 0, ..] => Some(Wide::Four { little: true }),
        [0, _, ..] => Some(Wide::Two { little: false }),
        [_, 0, ..] => Some(Wide::Two { little: true }),
        _ => None,
    }
}

fn decode(bytes: &[u8], wide: Wide) -> String {
    match wide {
        Wide::Two { little } => {
            let one = |pair: &[u8; 2]| match little {
                true => u16::from_le_bytes(*pair),
                false => u16::from_be_bytes(*pair),
            };
            let units = bytes.as_chunks::<2>().0.iter().map(one);
            let letters = char::decode_utf16(units);
            letters
                .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        }
        Wide::Four { little } => {
            let one = |four: &[u8; 4]| match little {
                true => u32::from_le_bytes(*four),
                false => u32::from_be_bytes(*four),
            };
            let units = bytes.as_chunks::<4>().0.iter().map(one);
            units
                .map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8], kind: &'static str) -> Read {
        let mut headers = HeaderMap::new();
        if !kind.is_empty() {
            headers.insert(CONTENT_TYPE, kind.parse().unwrap());
        }
        read(bytes.to_vec(), &headers)
    }

    #[test]
    fn a_body_is_read_as_any_of_its_readers_would() {
        let wide = |text: &str, little: bool| -> Vec<u8> {
            let both = |unit: u16| match little {
                true => unit.to_le_bytes(),
                false => unit.to_be_bytes(),
            };
            text.encode_utf16().flat_map(both).collect()
        };
        let four = |text: &str| {
            text.chars()
                .flat_map(|c| u32::from(c).to_be_bytes())
                .collect()
        };
        let cases: [(Vec<u8>, &'static str); 7] = [
            (b"evil".to_vec(), ""),
            (wide("evil", true), "text/plain; charset=UTF-16LE"),
            (wide("evil", false), "text/plain; charset=\"utf-16\""),
            (wide("{\"evil\"}", true), "application/json"),
            (wide("{\"evil\"}", false), "application/json; charset=utf-8"),
            (wide("\u{feff}\u{e9}evil", true), ""),
            (four("evil"), ""),
        ];
        for (bytes, kind) in cases {
            let read = of(&bytes, kind);
            assert!(read.text.contains("evil"), "{kind} {}", read.text);
            assert_eq!(read.plain, bytes == b"evil");
            assert!(!read.strange);
        }
        // What only looks like that is not hidden by it.
        assert!(
            of(b"\0\x01 evil", "application/octet-stream")
                .text
                .contains("evil")
        );
        assert!(
            of(b"evil", "text/plain; charset=utf-16le")
                .text
                .contains("evil")
        );
        assert!(of(b"+AGUAdgBpAGw-", "text/plain; charset=UTF-7").strange);
        assert!(of(b"evil", "text/plain; charset=iso-8859-15").plain);
    }
}
