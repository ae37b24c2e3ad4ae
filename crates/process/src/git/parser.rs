//! Reads a configuration as git does (git-config(1), *Syntax*).

use super::config::{Key, Objection, Variables};

/// Variables take so many bytes together at the most, each of them some more than its text.
const ROOM: usize = 4 << 20;
const EACH: usize = 256;

/// Reads a configuration as git does (git-config(1), *Syntax*): sections, subsections, values with
/// quotes, escapes and continued lines.
pub(super) fn parse(text: &[u8]) -> Result<Variables, Objection> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    // Git, which is written in C, may see an end there.
    if let Some(at) = text.iter().position(|&b| b == 0) {
        let line = 1 + text[..at].iter().filter(|&&b| b == b'\n').count();
        return Err(Objection::Unreadable(line));
    }
    let mut reader = Reader {
        text,
        at: 0,
        line: 1,
    };
    let mut room = ROOM;
    let mut variables = Variables::new();
    let mut section: Option<(String, Option<Vec<u8>>)> = None;
    loop {
        match reader.peek() {
            None => return Ok(variables),
            Some(b'#' | b';') => reader.skip_line(),
            Some(b' ' | b'\t' | b'\r' | b'\n') => drop(reader.next()),
            Some(b'[') => section = Some(reader.section()?),
            Some(b) if b.is_ascii_alphabetic() => {
                let (name, value) = reader.variable()?;
                let Some((section, subsection)) = &section else {
                    return Err(reader.objection());
                };
                let key = Key {
                    section: section.clone(),
                    subsection: subsection.clone(),
                    name,
                };
                // Each variable has a copy of its section's name, so that a short file could take much memory.
                let names = key.section.len() + key.subsection.as_ref().map_or(0, Vec::len);
                let length = names + key.name.len();
                room = (room.checked_sub(length + value.len() + EACH))
                    .ok_or_else(|| reader.objection())?;
                variables.entry(key).or_default().push(value);
            }
            Some(_) => return Err(reader.objection()),
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl Reader<'_> {
    fn objection(&self) -> Objection {
        Objection::Unreadable(self.line)
    }

    /// The next byte; git reads `\r\n` as one end of a line.
    fn peek(&self) -> Option<u8> {
        match self.text.get(self.at) {
            Some(b'\r') if self.text.get(self.at + 1) == Some(&b'\n') => Some(b'\n'),
            other => other.copied(),
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += if self.text[self.at] != byte { 2 } else { 1 };
        self.line += usize::from(byte == b'\n');
        Some(byte)
    }

    fn skip_line(&mut self) {
        while !matches!(self.next(), None | Some(b'\n')) {}
    }

    /// `[section]`, `[section "subsection"]`, and the old `[section.subsection]`.
    fn section(&mut self) -> Result<(String, Option<Vec<u8>>), Objection> {
        self.next();
        let mut name = String::new();
        loop {
            match self.next() {
                Some(b']') => break,
                Some(b) if b.is_ascii_alphanumeric() || b == b'-' || b == b'.' => {
                    name.push(b.to_ascii_lowercase().into());
                }
                Some(b' ' | b'\t') => {
                    let subsection = self.quoted_subsection()?;
                    return Ok((name, Some(subsection)));
                }
                _ => return Err(self.objection()),
            }
        }
        Ok(match name.split_once('.') {
            Some((section, sub)) => (section.to_owned(), Some(sub.as_bytes().to_vec())),
            None => (name, None),
        })
    }

    fn quoted_subsection(&mut self) -> Result<Vec<u8>, Objection> {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.next();
        }
        if self.next() != Some(b'"') {
            return Err(self.objection());
        }
        let mut name = Vec::new();
        loop {
            match self.next() {
                None | Some(b'\n') => return Err(self.objection()),
                Some(b'"') => break,
                Some(b'\\') => match self.next() {
                    None | Some(b'\n') => return Err(self.objection()),
                    Some(b) => name.push(b),
                },
                Some(b) => name.push(b),
            }
        }
        match self.next() {
            Some(b']') => Ok(name),
            _ => Err(self.objection()),
        }
    }

    /// `name = value`, or `name` alone, which means true.
    fn variable(&mut self) -> Result<(String, Vec<u8>), Objection> {
        let mut name = String::new();
        while let Some(b) = self
            .peek()
            .filter(|b| b.is_ascii_alphanumeric() || *b == b'-')
        {
            name.push(b.to_ascii_lowercase().into());
            self.next();
        }
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.next();
        }
        match self.next() {
            None | Some(b'\n') => Ok((name, b"true".to_vec())),
            Some(b'=') => Ok((name, self.value()?)),
            _ => Err(self.objection()),
        }
    }

    fn value(&mut self) -> Result<Vec<u8>, Objection> {
        let mut value = Vec::new();
        let mut kept = 0;
        let mut quoted = false;
        let mut comment = false;
        loop {
            let byte = match self.next() {
                None | Some(b'\n') if quoted => return Err(self.objection()),
                None | Some(b'\n') => break,
                Some(byte) => byte,
            };
            if comment {
                continue;
            }
            match byte {
                b' ' | b'\t' | b'\r' if !quoted => {
                    // Kept only between words.
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                b'#' | b';' if !quoted => {
                    comment = true;
                    continue;
                }
                b'\\' => match self.next() {
                    // White space before it stays.
                    Some(b'\n') => {}
                    Some(b't') => value.push(b'\t'),
                    Some(b'b') => value.push(8),
                    Some(b'n') => value.push(b'\n'),
                    Some(b @ (b'\\' | b'"')) => value.push(b),
                    _ => return Err(self.objection()),
                },
                b'"' => quoted = !quoted,
                other => value.push(other),
            }
            kept = value.len();
        }
        value.truncate(kept);
        Ok(value)
    }
}
