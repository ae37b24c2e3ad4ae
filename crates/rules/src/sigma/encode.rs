//! What a value becomes before it is looked for: Base64, UTF-16, and the dashes that programs take
//! for one another.

use super::pattern::{Pattern, Token};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 with padding (RFC 4648).
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |n: usize| u32::from(group.get(n).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for n in 0..4 {
            if n > group.len() {
                out.push('=');
            } else {
                out.push(char::from(ALPHABET[(bits >> (18 - 6 * n) & 63) as usize]));
            }
        }
    }
    out
}

/// What Base64 makes of the bytes wherever they stand in a longer text: for each of the three
/// shifts the characters that hold no bit of a neighbour. None where a shift leaves no character,
/// which would be found in everything.
pub(super) fn base64_shifts(bytes: &[u8]) -> Option<Vec<String>> {
    let mut all = Vec::with_capacity(3);
    for shift in 0..3 {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(bytes);
        let text = base64(&shifted);
        let start = [0, 2, 3][shift];
        let end = text.len() - [0, 3, 2][shifted.len() % 3];
        match text.get(start..end) {
            Some(fixed) if !fixed.is_empty() => all.push(fixed.to_owned()),
            _ => return None,
        }
    }
    Some(all)
}

/// UTF-16 with the less significant byte first.
pub(super) fn utf16le(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// UTF-16 with the more significant byte first.
pub(super) fn utf16be(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

/// UTF-16 with the less significant byte first, behind its mark.
pub(super) fn utf16(text: &str) -> Vec<u8> {
    let mut bytes = vec![0xff, 0xfe];
    bytes.extend(utf16le(text));
    bytes
}

/// The hyphen, the slash, the en dash, the em dash and the horizontal bar.
const DASHES: [char; 5] = ['-', '/', '\u{2013}', '\u{2014}', '\u{2015}'];

/// The most patterns that one value may become.
pub(super) const MAX_DASHED: usize = 125;

/// The pattern with each of its dashes as every one of them. None where these are too many.
pub(super) fn windash(pattern: &Pattern) -> Option<Vec<Pattern>> {
    let mut all: Vec<Vec<Token>> = vec![Vec::new()];
    for token in pattern.tokens() {
        let Token::Text(text) = token else {
            all.iter_mut().for_each(|one| one.push(token.clone()));
            continue;
        };
        let mut texts = vec![String::new()];
        for c in text.chars() {
            if !DASHES.contains(&c) {
                texts.iter_mut().for_each(|text| text.push(c));
            } else if texts.len() * all.len() * DASHES.len() > MAX_DASHED {
                return None;
            } else {
                let each = |text: String| DASHES.map(|dash| format!("{text}{dash}"));
                texts = texts.into_iter().flat_map(each).collect();
            }
        }
        let with = |one: Vec<Token>| {
            texts.iter().map(move |text| {
                let mut one = one.clone();
                one.push(Token::Text(text.clone()));
                one
            })
        };
        all = all.into_iter().flat_map(with).collect();
    }
    Some(all.into_iter().map(Pattern::new).collect())
}
