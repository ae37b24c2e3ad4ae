//! Audit records, which are lines of text with a number, put together to one execution. Programs choose
//! their words, so everything here is hostile; the kernel writes what is not plain in hexadecimal digits.

use bailiwick_channel::schema::Executed;

/// Bytes of a netlink header.
const HEADER: usize = 16;
// linux/audit.h
const SYSCALL: u16 = 1300;
const CWD: u16 = 1307;
const EXECVE: u16 = 1309;
const END: u16 = 1320;

/// The most that is kept of one execution's words, in bytes.
const LONGEST: usize = 16 * 1024;
/// The most words.
const WORDS: usize = 256;

/// An execution that is being told of.
#[derive(Debug, Default)]
pub(super) struct Records {
    serial: u64,
    seen: bool,
    executed: Option<Executed>,
    bytes: usize,
}

fn empty() -> Executed {
    Executed {
        pid: 0,
        parent: 0,
        uid: 0,
        path: Vec::new(),
        argv: Vec::new(),
        cut: false,
        cwd: Vec::new(),
    }
}

impl Records {
    /// Takes one message; an execution whose last record it was.
    pub(super) fn take(&mut self, message: &[u8]) -> Option<Executed> {
        let kind = u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?);
        let text = message.get(HEADER..)?;
        let text = text.strip_suffix(b"\0").unwrap_or(text);
        let (serial, rest) = serial(text)?;
        if serial != self.serial {
            // Records of one execution come together; one that did not end is not told of.
            *self = Self {
                serial,
                ..Self::default()
            };
        }
        match kind {
            SYSCALL => {
                let executed = self.executed.get_or_insert_with(empty);
                self.seen = true;
                for (name, value) in fields(rest) {
                    match name {
                        b"pid" => executed.pid = number(value),
                        b"ppid" => executed.parent = number(value),
                        b"uid" => executed.uid = number(value),
                        b"exe" => executed.path = text_of(value),
                        _ => {}
                    }
                }
            }
            EXECVE => self.words(rest),
            CWD => {
                let executed = self.executed.get_or_insert_with(empty);
                for (name, value) in fields(rest) {
                    if name == b"cwd" {
                        executed.cwd = text_of(value);
                    }
                }
            }
            END => {
                let whole = std::mem::take(self);
                return whole.executed.filter(|_| whole.seen);
            }
            _ => {}
        }
        None
    }

    /// `argc=2 a0="ls" a1=2D6C`, a long word in parts: `a1[0]=… a1[1]=…` behind `a1_len=…`.
    fn words(&mut self, rest: &[u8]) {
        let executed = self.executed.get_or_insert_with(empty);
        for (name, value) in fields(rest) {
            let Some(index) = name.strip_prefix(b"a") else {
                continue;
            };
            let (index, part) = match index.iter().position(|byte| *byte == b'[') {
                Some(at) => (index.get(..at).unwrap_or_default(), true),
                None => (index, false),
            };
            if index.is_empty() || !index.iter().all(u8::is_ascii_digit) {
                continue;
            }
            let word = text_of(value);
            if self.bytes + word.len() > LONGEST || executed.argv.len() >= WORDS {
                executed.cut = true;
                continue;
            }
            self.bytes += word.len();
            let index = number(index) as usize;
            if part && index + 1 == executed.argv.len() {
                if let Some(last) = executed.argv.last_mut() {
                    last.extend_from_slice(&word);
                }
            } else {
                executed.argv.push(word);
            }
        }
    }
}

/// `audit(1364481363.243:24287): ` in front of a record.
fn serial(text: &[u8]) -> Option<(u64, &[u8])> {
    let rest = text.strip_prefix(b"audit(")?;
    let colon = rest.iter().position(|byte| *byte == b':')?;
    let end = rest.iter().position(|byte| *byte == b')')?;
    let serial = std::str::from_utf8(rest.get(colon + 1..end)?).ok()?;
    Some((
        serial.parse().ok()?,
        rest.get(end + 2..).unwrap_or_default(),
    ))
}

/// `name=value` by spaces; a value in quotes has none of either in it, or the kernel would not quote.
fn fields(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    text.split(|byte| *byte == b' ').filter_map(|field| {
        let at = field.iter().position(|byte| *byte == b'=')?;
        Some((field.get(..at)?, field.get(at + 1..)?))
    })
}

fn number(value: &[u8]) -> u32 {
    let text = std::str::from_utf8(value).unwrap_or_default();
    text.parse().unwrap_or_default()
}

/// A string as the kernel writes it: in quotes, or in hexadecimal digits.
fn text_of(value: &[u8]) -> Vec<u8> {
    if let Some(quoted) = value.strip_prefix(b"\"") {
        return quoted.strip_suffix(b"\"").unwrap_or(quoted).to_vec();
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = value.chunks(2).map(|pair| match pair {
        [high, low] => Some(u8::try_from(digit(*high)? * 16 + digit(*low)?).unwrap_or_default()),
        _ => None,
    });
    pairs
        .collect::<Option<_>>()
        .unwrap_or_else(|| value.to_vec())
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
