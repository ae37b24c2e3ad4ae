//! What a literal says (CEL specification, *String and Bytes Values*).

use super::lexer::Quoted;

/// The characters of a text, with its escapes read. In bytes `\x` and octal escapes are bytes, in
/// a string they are code points.
pub(super) fn unescape(quoted: Quoted<'_>, bytes: bool) -> Result<Vec<u8>, String> {
    if quoted.raw || !quoted.inner.contains('\\') {
        return Ok(quoted.inner.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(quoted.inner.len());
    let mut rest = quoted.inner;
    while let Some((before, after)) = rest.split_once('\\') {
        out.extend_from_slice(before.as_bytes());
        let mut chars = after.chars();
        let kind = chars.next().unwrap_or('\\');
        rest = chars.as_str();
        let simple = match kind {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' => b'\\',
            '?' => b'?',
            '"' => b'"',
            '\'' => b'\'',
            '`' => b'`',
            _ => 0,
        };
        if simple != 0 {
            out.push(simple);
            continue;
        }
        let (digits, radix, text) = match kind {
            'x' | 'X' => (2, 16, rest),
            'u' if !bytes => (4, 16, rest),
            'U' if !bytes => (8, 16, rest),
            '0'..='3' => (3, 8, after),
            _ => {
                return Err(format!(
                    "\\{kind} is no escape; write \\\\ for a backslash, or r\"…\" for a raw text"
                ));
            }
        };
        // A sign, which Rust reads before a number, is no digit.
        let digit = |b: u8| char::from(b).is_digit(radix);
        let code = text.get(..digits).filter(|code| code.bytes().all(digit));
        let number = code.and_then(|code| u32::from_str_radix(code, radix).ok());
        let (Some(code), Some(number)) = (code, number) else {
            let base = if radix == 8 { "octal" } else { "hexadecimal" };
            return Err(format!("\\{kind} takes {digits} {base} digits"));
        };
        rest = &text[code.len()..];
        if bytes {
            match u8::try_from(number) {
                Ok(byte) => out.push(byte),
                Err(_) => return Err(format!("\\{code} is more than a byte")),
            }
            continue;
        }
        match char::from_u32(number) {
            Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None => return Err(format!("\\{kind}{code} is no character")),
        }
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// A whole number's digits as a number; `0x` before hexadecimal ones.
pub(super) fn whole(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
