//! Git's own reader of configuration files (`config.c` of 2.39: `git_parse_source` and what it
//! calls), written anew function by function, so that no idea of ours about the format is in it.

/// A variable as `git config --list` names it, and its value; none where it has none (`key`).
pub type Variable = (Vec<u8>, Option<Vec<u8>>);

/// All variables in order; none where git calls a line bad.
pub fn parse(text: &[u8]) -> Option<Vec<Variable>> {
    let mut source = Source {
        text,
        at: 0,
        eof: false,
    };
    if text.starts_with(b"\xef\xbb\xbf") {
        source.at = 3;
    }
    let (mut found, mut section) = (Vec::new(), Vec::new());
    let mut comment = false;
    loop {
        let c = source.next();
        if c == b'\n' {
            if source.eof {
                return Some(found);
            }
            comment = false;
        } else if comment || is_space(c) {
        } else if c == b'#' || c == b';' {
            comment = true;
        } else if c == b'[' {
            section = source.base()?;
            section.push(b'.');
        } else if c.is_ascii_alphabetic() {
            let mut name = section.clone();
            name.push(c.to_ascii_lowercase());
            let value = source.variable(&mut name)?;
            found.push((name, value));
        } else {
            return None;
        }
    }
}

fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_key(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'-'
}

struct Source<'a> {
    text: &'a [u8],
    at: usize,
    eof: bool,
}

impl Source<'_> {
    /// `get_next_char`: the end is a newline, and so is `\r\n`.
    fn next(&mut self) -> u8 {
        let c = self.text.get(self.at).copied();
        self.at += 1;
        match c {
            Some(b'\r') if self.text.get(self.at) == Some(&b'\n') => {
                self.at += 1;
                b'\n'
            }
            Some(c) => c,
            None => {
                self.eof = true;
                b'\n'
            }
        }
    }

    /// `get_base_var`
    fn base(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            let c = self.next();
            if self.eof {
                return None;
            }
            if c == b']' {
                return Some(name);
            }
            if is_space(c) {
                return self.extended(name, c);
            }
            if !is_key(c) && c != b'.' {
                return None;
            }
            name.push(c.to_ascii_lowercase());
        }
    }

    /// `get_extended_base_var`
    fn extended(&mut self, mut name: Vec<u8>, mut c: u8) -> Option<Vec<u8>> {
        loop {
            if c == b'\n' {
                return None;
            }
            c = self.next();
            if !is_space(c) {
                break;
            }
        }
        if c != b'"' {
            return None;
        }
        name.push(b'.');
        loop {
            let mut c = self.next();
            if c == b'\n' {
                return None;
            }
            if c == b'"' {
                break;
            }
            if c == b'\\' {
                c = self.next();
                if c == b'\n' {
                    return None;
                }
            }
            name.push(c);
        }
        (self.next() == b']').then_some(name)
    }

    /// `get_value`
    #[allow(clippy::option_option, reason = "bad, without a value, with one")]
    fn variable(&mut self, name: &mut Vec<u8>) -> Option<Option<Vec<u8>>> {
        let mut c = self.next();
        while !self.eof && is_key(c) {
            name.push(c.to_ascii_lowercase());
            c = self.next();
        }
        while c == b' ' || c == b'\t' {
            c = self.next();
        }
        match c {
            b'\n' => Some(None),
            b'=' => Some(Some(self.value()?)),
            _ => None,
        }
    }

    /// `parse_value`
    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut spaces) = (Vec::new(), 0);
        let (mut quote, mut comment) = (false, false);
        loop {
            let mut c = self.next();
            if c == b'\n' {
                return (!quote).then_some(value);
            }
            if comment {
                continue;
            }
            if is_space(c) && !quote {
                if !value.is_empty() {
                    spaces += 1;
                }
                continue;
            }
            if !quote && (c == b';' || c == b'#') {
                comment = true;
                continue;
            }
            value.extend(std::iter::repeat_n(b' ', std::mem::take(&mut spaces)));
            if c == b'\\' {
                c = self.next();
                match c {
                    b'\n' => continue,
                    b't' => c = b'\t',
                    b'b' => c = 8,
                    b'n' => c = b'\n',
                    b'\\' | b'"' => {}
                    _ => return None,
                }
            } else if c == b'"' {
                quote = !quote;
                continue;
            }
            value.push(c);
        }
    }
}
