//! JSON objects one after the other: a single one, lines of them, or the members of a list, in
//! whatever pieces they come.
//!
//! Decision: one reader for the three, which finds where an object ends by its brackets and leaves
//! its meaning to the reader of JSON. An object that is larger than any that an API sends is left
//! out. Other bytes between objects are skipped to the end of their line.

use super::sse::MAX_EVENT;

/// Reads objects.
#[derive(Debug, Default)]
pub(super) struct Documents {
    document: Vec<u8>,
    /// Open brackets.
    depth: usize,
    in_string: bool,
    escaped: bool,
    too_large: bool,
    /// In a list, whose members are the objects.
    in_list: bool,
    begun: bool,
    /// In a line that is none.
    skipping: bool,
    /// Something was left out.
    dropped: bool,
}

impl Documents {
    /// Reads on; each object that is whole is handed out.
    pub(super) fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) {
        // Where what is not kept yet of the object begins.
        let mut start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if self.depth == 0 {
                start = at;
                self.between(*byte);
            } else if self.within(*byte) {
                self.keep(&bytes[start..=at]);
                match std::mem::take(&mut self.too_large) {
                    true => self.dropped = true,
                    false => take(&self.document),
                }
                self.document.clear();
            }
        }
        if self.depth > 0 {
            self.keep(&bytes[start..]);
        }
    }

    /// Bytes that it keeps.
    pub(super) fn size(&self) -> usize {
        self.document.capacity()
    }

    /// Whether something was left out.
    pub(super) fn dropped(&self) -> bool {
        self.dropped || self.too_large
    }

    /// Whether an object has begun and not ended.
    pub(super) fn is_open(&self) -> bool {
        self.depth > 0
    }

    /// A byte between objects.
    fn between(&mut self, byte: u8) {
        if self.skipping {
            self.skipping = byte != b'\n';
            return;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => return,
            b'{' => self.depth = 1,
            b'[' if !self.begun => self.in_list = true,
            b',' | b']' if self.in_list => {}
            _ => {
                self.skipping = true;
                self.dropped = true;
            }
        }
        self.begun = true;
    }

    /// A byte of an object; whether it is the last.
    fn within(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        self.depth == 0
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.too_large |= self.document.len() + bytes.len() > MAX_EVENT;
        match self.too_large {
            true => self.document = Vec::new(),
            false => self.document.extend_from_slice(bytes),
        }
    }
}

#[cfg(test)]
#[path = "documents_tests.rs"]
mod tests;
