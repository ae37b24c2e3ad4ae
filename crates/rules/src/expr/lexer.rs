//! The text in words (CEL specification, *Syntax*). Words borrow from the text; what a literal
//! says is found out when the parser takes it.

use super::{Span, SyntaxError};

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'s> {
    Name(&'s str),
    /// A name between backticks, without them.
    Quoted(&'s str),
    /// A whole number as it stands, without its `u`.
    Int(&'s str),
    Uint(&'s str),
    Double(&'s str),
    Text(Quoted<'s>),
    Bytes(Quoted<'s>),
    Symbol(Symbol),
    End,
}

/// An operator or a bracket: its one or two characters, so that it is compared as a number.
pub(super) type Symbol = [u8; 2];

/// The symbol that is written so.
pub(super) const fn symbol(text: &str) -> Symbol {
    match text.as_bytes() {
        [a, b] => [*a, *b],
        [a] => [*a, 0],
        _ => [0, 0],
    }
}

/// What stands between quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quoted<'s> {
    pub(super) inner: &'s str,
    pub(super) raw: bool,
}

pub(super) struct Lexer<'s> {
    text: &'s str,
    at: usize,
}

/// Whether a symbol has this character and the next.
fn is_double(a: u8, b: u8) -> bool {
    matches!(
        (a, b),
        (b'&', b'&') | (b'|', b'|') | (b'=' | b'!' | b'<' | b'>', b'=')
    )
}

impl<'s> Lexer<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        Self { text, at: 0 }
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'s str {
        self.text
    }

    #[allow(clippy::cast_possible_truncation, reason = "a text is at most 64 KiB")]
    fn span(&self, from: usize) -> Span {
        Span {
            start: from as u32,
            end: self.at as u32,
        }
    }

    fn rest(&self) -> &'s [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn skip(&mut self, more: impl Fn(u8) -> bool) {
        self.at += self.rest().iter().take_while(|b| more(**b)).count();
    }

    fn skip_blank(&mut self) {
        loop {
            self.skip(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n' | 0x0c));
            if !self.rest().starts_with(b"//") {
                return;
            }
            self.skip(|b| b != b'\n');
        }
    }

    /// The next word and where it stands.
    pub(super) fn next(&mut self) -> Result<(Token<'s>, Span), SyntaxError> {
        self.skip_blank();
        let from = self.at;
        let Some(first) = self.rest().first().copied() else {
            return Ok((Token::End, self.span(from)));
        };
        let token = match first {
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => match self.prefixed_quote() {
                Some((bytes, raw)) => self.quoted(from, bytes, raw)?,
                None => {
                    self.skip(|b| b == b'_' || b.is_ascii_alphanumeric());
                    Token::Name(&self.text[from..self.at])
                }
            },
            b'"' | b'\'' => self.quoted(from, false, false)?,
            b'`' => self.backticks(from)?,
            b'0'..=b'9' => self.number(from)?,
            b'.' if self.rest().get(1).is_some_and(u8::is_ascii_digit) => self.number(from)?,
            _ => self.symbol(from)?,
        };
        Ok((token, self.span(from)))
    }

    fn symbol(&mut self, from: usize) -> Result<Token<'s>, SyntaxError> {
        let (first, second) = match self.rest() {
            [first, second, ..] => (*first, *second),
            [first] => (*first, 0),
            [] => (0, 0),
        };
        if is_double(first, second) {
            self.at += 2;
            return Ok(Token::Symbol([first, second]));
        }
        if b"<>!+-*/%?:.,()[]{}".contains(&first) {
            self.at += 1;
            return Ok(Token::Symbol([first, 0]));
        }
        let help = match first {
            b'=' if self.text[from..].starts_with("=~") => "write a.matches(\"…\")",
            b'=' => "write == to compare",
            b'&' => "write && for \"and\"",
            b'|' => "write || for \"or\"",
            _ => "a text stands between \" and \", or between ' and '",
        };
        let c = self.text[from..].chars().next().unwrap_or(' ');
        self.at = from + c.len_utf8();
        let message = format!("{c:?} has no meaning here");
        Err(SyntaxError::new(self.span(from), message, help))
    }

    /// Goes past the letters before a quote; none where what follows is a name.
    fn prefixed_quote(&mut self) -> Option<(bool, bool)> {
        let (mut bytes, mut raw) = (false, false);
        for (n, b) in self.rest().iter().take(3).enumerate() {
            match b {
                b'b' | b'B' if !bytes => bytes = true,
                b'r' | b'R' if !raw => raw = true,
                b'"' | b'\'' => {
                    self.at += n;
                    return Some((bytes, raw));
                }
                _ => return None,
            }
        }
        None
    }

    fn quoted(&mut self, from: usize, bytes: bool, raw: bool) -> Result<Token<'s>, SyntaxError> {
        let rest = self.rest();
        let quote = rest[0];
        let triple = rest.starts_with(&[quote; 3]);
        let width = if triple { 3 } else { 1 };
        let start = self.at + width;
        let mut at = start;
        let all = self.text.as_bytes();
        loop {
            match all.get(at) {
                Some(b'\\') if !raw => at += 2,
                // In a raw text a backslash stands for itself.
                Some(b) if *b == quote && (!triple || all[at..].starts_with(&[quote; 3])) => break,
                Some(b'\n' | b'\r') if !triple => {
                    self.at = at;
                    return Err(SyntaxError::new(
                        self.span(from),
                        "the text does not end on its line",
                        "close the quote, or write \\n for the end of a line",
                    ));
                }
                Some(_) => at += 1,
                None => {
                    self.at = all.len();
                    let close = if triple { "\"\"\"" } else { "quote" };
                    return Err(SyntaxError::new(
                        self.span(from),
                        "the text does not end",
                        format!("add the closing {close}"),
                    ));
                }
            }
        }
        self.at = at + width;
        let inner = Quoted {
            inner: &self.text[start..at],
            raw,
        };
        Ok(if bytes {
            Token::Bytes(inner)
        } else {
            Token::Text(inner)
        })
    }

    fn backticks(&mut self, from: usize) -> Result<Token<'s>, SyntaxError> {
        self.at += 1;
        let start = self.at;
        self.skip(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'/' | b' '));
        let name = &self.text[start..self.at];
        if name.is_empty() || self.rest().first() != Some(&b'`') {
            return Err(SyntaxError::new(
                self.span(from),
                "a name between backticks has letters, digits, _ . - / and blanks",
                "use an index for any other key: arguments[\"key\"]",
            ));
        }
        self.at += 1;
        Ok(Token::Quoted(name))
    }

    fn number(&mut self, from: usize) -> Result<Token<'s>, SyntaxError> {
        let rest = self.rest();
        if rest.starts_with(b"0x") || rest.starts_with(b"0X") {
            self.at += 2;
            self.skip(|b| b.is_ascii_hexdigit());
            return self.whole(from);
        }
        self.skip(|b| b.is_ascii_digit());
        let mut double = false;
        let digit = |b: Option<&u8>| b.is_some_and(u8::is_ascii_digit);
        if self.rest().first() == Some(&b'.') && digit(self.rest().get(1)) {
            double = true;
            self.at += 1;
            self.skip(|b| b.is_ascii_digit());
        }
        if let [b'e' | b'E', after @ ..] = self.rest() {
            let sign = matches!(after.first(), Some(b'+' | b'-'));
            if digit(after.get(usize::from(sign))) {
                double = true;
                self.at += 1 + usize::from(sign);
                self.skip(|b| b.is_ascii_digit());
            }
        }
        if double {
            let text = &self.text[from..self.at];
            self.no_name_follows(from)?;
            return Ok(Token::Double(text));
        }
        self.whole(from)
    }

    fn whole(&mut self, from: usize) -> Result<Token<'s>, SyntaxError> {
        let text = &self.text[from..self.at];
        let unsigned = matches!(self.rest().first(), Some(b'u' | b'U'));
        self.at += usize::from(unsigned);
        self.no_name_follows(from)?;
        Ok(if unsigned {
            Token::Uint(text)
        } else {
            Token::Int(text)
        })
    }

    fn no_name_follows(&mut self, from: usize) -> Result<(), SyntaxError> {
        let follows = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        if !self.rest().first().is_some_and(follows) {
            return Ok(());
        }
        self.skip(|b| follows(&b));
        Err(SyntaxError::new(
            self.span(from),
            format!("{} is no number", &self.text[from..self.at]),
            "a text stands between quotes; a name begins with a letter",
        ))
    }
}
