//! Bytes that a sandboxed program chose. They reach the ledger unchanged and a person's terminal
//! harmless: a name with an escape sequence in it must neither be lost nor be executed.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// A string of bytes of unknown encoding.
///
/// In JSON it is a string where the bytes are UTF-8, and `{"hex": "…"}` where they are not, so
/// that nothing is lost either way. [`fmt::Display`] escapes everything that a terminal could
/// take for a command, and everything that could hide text from a reader.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text(Vec<u8>);

impl Text {
    /// The bytes as they came.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes with every invalid sequence replaced; for comparisons, not for showing.
    #[must_use]
    pub fn to_string_lossy(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// At most `limit` bytes of it; the rest is dropped.
    #[must_use]
    pub fn truncated(mut self, limit: usize) -> Self {
        self.0.truncate(limit);
        self
    }
}

impl From<&str> for Text {
    fn from(s: &str) -> Self {
        Self(s.as_bytes().to_vec())
    }
}
impl From<String> for Text {
    fn from(s: String) -> Self {
        Self(s.into_bytes())
    }
}
impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}
impl From<&OsStr> for Text {
    fn from(s: &OsStr) -> Self {
        Self(s.as_bytes().to_vec())
    }
}
impl From<OsString> for Text {
    fn from(s: OsString) -> Self {
        Self(s.into_vec())
    }
}

/// A word as a shell reads it, safe to show.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./~@+=,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", Text::from(text).to_string().replace('\'', "'\\''")),
    }
}

/// Whether a character may be written to a terminal as it is: no control character, no
/// bidirectional override, no invisible formatting character, no blank but the space.
#[must_use]
pub fn harmless(c: char) -> bool {
    !(c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' |
            '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'))
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '\\' => f.write_str("\\\\")?,
                    '\n' => f.write_str("\\n")?,
                    '\r' => f.write_str("\\r")?,
                    '\t' => f.write_str("\\t")?,
                    c if harmless(c) => f.write_char(c)?,
                    c => write!(f, "\\u{{{:x}}}", c as u32)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[derive(Serialize, Deserialize)]
struct Hex {
    hex: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Wire {
    Plain(String),
    Hex(Hex),
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(s) => serializer.serialize_str(s),
            Err(_) => {
                use fmt::Write as _;
                let mut hex = String::with_capacity(self.0.len() * 2);
                for byte in &self.0 {
                    let _ = write!(hex, "{byte:02x}");
                }
                Hex { hex }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        match Wire::deserialize(deserializer)? {
            Wire::Plain(s) => Ok(Self(s.into_bytes())),
            Wire::Hex(Hex { hex }) => {
                if !hex.is_ascii() || hex.len() % 2 != 0 {
                    return Err(D::Error::custom("hex text has an odd length"));
                }
                (0..hex.len() / 2)
                    .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16))
                    .collect::<Result<Vec<u8>, _>>()
                    .map(Self)
                    .map_err(D::Error::custom)
            }
        }
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
