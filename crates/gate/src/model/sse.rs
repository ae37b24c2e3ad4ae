//! Server-sent events, as the HTML standard reads them (WHATWG HTML §9.2.6), in whatever pieces
//! they come.
//!
//! Decision: an event that is larger than any that an API sends is left out, and the next one is
//! read; the reader says so, so that what was left out is not taken for what was not said.

/// The largest event, in bytes of its lines.
pub(super) const MAX_EVENT: usize = 4 * 1024 * 1024;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its type; `message` where none is given.
    pub(crate) name: String,
    /// Its data, the lines of it joined.
    pub(crate) data: String,
}

/// Reads events. What is left at the end without an empty line behind it is none.
#[derive(Debug, Default)]
pub(crate) struct Sse {
    line: Vec<u8>,
    /// Bytes of the line that were seen, kept or not.
    line_length: usize,
    /// The last byte was a CR, which a LF may follow.
    after_cr: bool,
    /// A line was read.
    begun: bool,
    name: Vec<u8>,
    data: Vec<u8>,
    /// Bytes of the event's lines.
    size: usize,
    /// An event was left out.
    dropped: bool,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl Sse {
    /// Reads on; each event that is whole is handed out.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut take: impl FnMut(Event)) {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|b| matches!(b, b'\r' | b'\n'));
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            self.add(part);
            bytes = rest;
            if let Some((ending, rest)) = rest.split_first() {
                self.after_cr = *ending == b'\r';
                bytes = rest;
                if let Some(event) = self.end_line() {
                    take(event);
                }
            }
        }
    }

    /// Bytes that it keeps.
    pub(crate) fn size(&self) -> usize {
        self.line.capacity() + self.name.capacity() + self.data.capacity()
    }

    /// Whether an event was left out.
    pub(crate) fn dropped(&self) -> bool {
        self.dropped
    }

    fn is_too_large(&self) -> bool {
        self.size > MAX_EVENT
    }

    fn add(&mut self, part: &[u8]) {
        self.line_length = self.line_length.saturating_add(part.len());
        // Of a comment nothing is kept.
        if self.line.first() == Some(&b':') || self.is_too_large() {
            return;
        }
        let comment = self.line.is_empty() && part.first() == Some(&b':');
        let part = if comment { &part[..1] } else { part };
        self.size += part.len();
        match self.is_too_large() {
            true => {
                self.dropped = true;
                self.line = Vec::new();
                self.name = Vec::new();
                self.data = Vec::new();
            }
            false => self.line.extend_from_slice(part),
        }
    }

    fn end_line(&mut self) -> Option<Event> {
        let mut length = std::mem::take(&mut self.line_length);
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(BOM) {
            line = &line[BOM.len()..];
            length -= BOM.len();
        }
        if length == 0 {
            return self.end_event();
        }
        if self.is_too_large() {
            return None;
        }
        let colon = line.iter().position(|b| *b == b':');
        let (field, value) = match colon {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        let mut data = std::mem::take(&mut self.data);
        self.size = 0;
        data.pop()?;
        let name = match name.is_empty() {
            true => "message".to_owned(),
            false => text(name),
        };
        Some(Event {
            name,
            data: text(data),
        })
    }
}

/// What is no UTF-8 is replaced, as the standard has it.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
