//! One character of a text as documents, URLs and programs write it where they do not write it as it
//! is: behind a mark, as its number or its name.
//!
//! Decision: only what stands for one printable character of ASCII, of which secrets are made. What is
//! written so within something else that is (`%2541`, `\\u0041`, `&amp;#65;`) counts as well, to a
//! depth at which no more than some twenty bytes stand for a character.

/// How often something can be written within something else.
const DEPTH: usize = 4;
/// The most backslashes in front of one character: each depth doubles them.
const BACKSLASHES: usize = 8;
/// The most digits of a number that may have zeros in front.
const DIGITS: usize = 8;

/// Names of characters in HTML and XML.
const NAMES: [(&[u8], u8); 5] = [
    (b"amp;", b'&'),
    (b"lt;", b'<'),
    (b"gt;", b'>'),
    (b"quot;", b'"'),
    (b"apos;", b'\''),
];

/// Where the next mark stands behind which one of the wanted characters can be written.
pub(super) fn mark(bytes: &[u8], wanted: &[bool; 256]) -> Option<usize> {
    // Most marks are no more than that, and this is asked about each.
    let mut marks = memchr::memchr3_iter(b'%', b'\\', b'&', bytes);
    marks.find(|mark| match (bytes[*mark], bytes.get(mark + 1)) {
        (_, None) => true,
        (b'%', Some(next)) => next.is_ascii_hexdigit() || matches!(next, b'u' | b'U'),
        (b'&', Some(next)) => matches!(next, b'#' | b'a' | b'l' | b'g' | b'q'),
        (_, Some(b'\\' | b'u' | b'U' | b'x' | b'0'..=b'7')) => true,
        (_, Some(next)) => next.is_ascii_punctuation() && wanted[usize::from(*next)],
    })
}

/// A character that is not written as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) character: u8,
    /// How many bytes stand for it.
    length: u8,
    /// Its number among them; none where it has a name.
    number: Number,
}

/// Digits of a base, at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Number {
    at: u8,
    digits: u8,
    base: u8,
}

impl Unit {
    /// How many bytes stand for it.
    pub(super) fn length(&self) -> usize {
        self.length.into()
    }

    /// Writes another character in the same way into these bytes, which stand for this one.
    pub(super) fn write(&self, bytes: &mut [u8], character: u8) {
        let Number { at, digits, base } = self.number;
        let room = &mut bytes[usize::from(at)..usize::from(at + digits)];
        let base = u32::from(base);
        let fits = u32::from(character) < base.saturating_pow(digits.into());
        // The number of a digit is never longer than that of another character.
        let mut rest = u32::from(match fits {
            true => character,
            false => b'0' + character % 10,
        });
        let upper = !room.iter().any(u8::is_ascii_lowercase);
        for place in room.iter_mut().rev() {
            let digit = char::from_digit(rest % base, base).unwrap_or('0') as u8;
            *place = match upper {
                true => digit.to_ascii_uppercase(),
                false => digit,
            };
            rest /= base;
        }
    }
}

/// The ways in which bytes can be read.
#[derive(Debug, Default)]
pub(super) struct Units {
    found: [Unit; 8],
    count: usize,
    /// Whether there could be another if there were more bytes.
    pub(super) open: bool,
}

impl Units {
    /// The ways in which these begin with a character that is not written as it is.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut units = Self::default();
        match bytes.first() {
            Some(b'%') => units.percent(bytes),
            Some(b'\\') => units.backslash(bytes),
            Some(b'&') => units.entity(bytes),
            _ => {}
        }
        units
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Unit> {
        self.found[..self.count].iter()
    }

    fn add(&mut self, character: u32, length: usize, number: Number) {
        let character = u8::try_from(character).unwrap_or_default();
        if character.is_ascii_graphic()
            && let Ok(length) = u8::try_from(length)
            && let Some(place) = self.found.get_mut(self.count)
        {
            *place = Unit {
                character,
                length,
                number,
            };
            self.count += 1;
        }
    }

    /// A character that has a name.
    fn named(&mut self, character: u8, length: usize) {
        self.add(character.into(), length, Number::default());
    }

    /// A number of `least` to `most` digits at a place, and what `close` makes of what follows it: how
    /// many bytes of that belong to it.
    fn number(
        &mut self,
        bytes: &[u8],
        at: usize,
        base: u8,
        (least, most): (usize, usize),
        close: impl Fn(Option<&u8>) -> Option<usize>,
    ) {
        let rest = bytes.get(at..).unwrap_or_default();
        let (mut value, mut digits) = (0_u32, 0);
        for digit in rest.iter().take(most) {
            let Some(digit) = char::from(*digit).to_digit(base.into()) else {
                break;
            };
            value = value.saturating_mul(base.into()).saturating_add(digit);
            digits += 1;
        }
        let next = rest.get(digits);
        self.open |= next.is_none();
        if digits >= least
            && let Some(closed) = close(next)
        {
            // Both are less than the longest way to write a character.
            let number = Number {
                at: at as u8,
                digits: digits as u8,
                base,
            };
            self.add(value, at + digits + closed, number);
        }
    }

    /// So many digits, whatever follows.
    fn exactly(&mut self, bytes: &[u8], at: usize, base: u8, digits: usize) {
        // Bytes that follow the last digit change nothing.
        let bytes = &bytes[..bytes.len().min(at + digits)];
        let whole = bytes.len() == at + digits;
        let open = self.open;
        self.number(bytes, at, base, (digits, digits), |_| Some(0));
        if whole {
            self.open = open;
        }
    }

    /// `%41`, `%u0041`.
    fn percent(&mut self, bytes: &[u8]) {
        let mut at = 1;
        for _ in 0..DEPTH {
            match bytes.get(at) {
                None => self.open = true,
                Some(b'u' | b'U') => self.exactly(bytes, at + 1, 16, 4),
                Some(_) => self.exactly(bytes, at, 16, 2),
            }
            match bytes.get(at..at + 2) {
                Some(b"25") => at += 2,
                _ => break,
            }
        }
    }

    /// `\u0041`, `\u{41}`, `\x41`, `\U00000041`, `\101`, and a mark behind a backslash.
    fn backslash(&mut self, bytes: &[u8]) {
        let run = bytes.iter().take(BACKSLASHES + 1);
        let run = run.take_while(|b| **b == b'\\').count();
        let mut half = 1;
        while 2 * half <= run.min(BACKSLASHES) {
            half *= 2;
            self.named(b'\\', half);
        }
        if run > BACKSLASHES {
            return;
        }
        let braced = |next: Option<&u8>| (next == Some(&b'}')).then_some(1);
        match bytes.get(run) {
            None => self.open = true,
            Some(b'u' | b'x') if bytes.get(run + 1).is_none() => self.open = true,
            Some(b'u' | b'x') if bytes[run + 1] == b'{' => {
                self.number(bytes, run + 2, 16, (1, DIGITS), braced);
            }
            Some(b'u') => self.exactly(bytes, run + 1, 16, 4),
            Some(b'x') => self.exactly(bytes, run + 1, 16, 2),
            Some(b'U') => self.exactly(bytes, run + 1, 16, 8),
            Some(b'0'..=b'7') => {
                self.exactly(bytes, run, 8, 2);
                self.exactly(bytes, run, 8, 3);
            }
            Some(mark) if mark.is_ascii_punctuation() => self.named(*mark, run + 1),
            Some(_) => {}
        }
    }

    /// `&#65;`, `&#x41;`, `&amp;`.
    fn entity(&mut self, bytes: &[u8]) {
        let mut at = 1;
        let closed = |next: Option<&u8>| next.map(|next| usize::from(*next == b';'));
        for _ in 0..DEPTH {
            let rest = &bytes[at..];
            match (rest.first(), rest.get(1)) {
                (None, _) | (Some(b'#'), None) => self.open = true,
                (Some(b'#'), Some(b'x' | b'X')) => {
                    self.number(bytes, at + 2, 16, (1, DIGITS), closed);
                }
                (Some(b'#'), _) => self.number(bytes, at + 1, 10, (1, DIGITS), closed),
                _ => {}
            }
            for (name, character) in NAMES {
                match rest.strip_prefix(name) {
                    Some(_) => self.named(character, at + name.len()),
                    None => self.open |= name.starts_with(rest),
                }
            }
            match rest.starts_with(b"amp;") {
                true => at += 4,
                false => break,
            }
        }
    }
}

#[cfg(test)]
#[path = "units_tests.rs"]
mod tests;
