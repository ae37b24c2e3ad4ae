//! Puts texts in the place of others of the same length, in bytes that come in parts: what could be
//! the beginning of one waits for the next part, and nothing else does. A beginning that both texts
//! have in common goes on at once: a message that ends with it may be one that is waited for.

use super::spelled::{self, Open, Spelled};
use memchr::memmem::Finder;

/// Replaces texts.
pub(crate) struct Replacer {
    pairs: Vec<Pair>,
    /// What is replaced as well where its characters are written in other ways.
    spelled: Vec<Spelled>,
    /// How many of those were replaced.
    respelled: u64,
    /// The end of what came, which may be the beginning of one.
    waiting: Vec<u8>,
    /// How much of that has gone on: it would be the same.
    gone: usize,
    /// How often each was replaced.
    pub(crate) replaced: Vec<usize>,
}

struct Pair {
    from: Finder<'static>,
    to: Vec<u8>,
    /// How many bytes both begin with.
    common: usize,
}

impl Pair {
    fn new(from: &str, to: &str) -> Self {
        let both = from.bytes().zip(to.bytes());
        Self {
            from: Finder::new(from).into_owned(),
            to: to.as_bytes().to_vec(),
            // What is only looked for is held back whole.
            common: match from == to {
                true => 0,
                false => both.take_while(|(a, b)| a == b).count(),
            },
        }
    }
}

impl Replacer {
    /// Replaces the first of each pair by the second, which is as long.
    pub(crate) fn new<'p>(pairs: impl IntoIterator<Item = (&'p str, &'p str)>) -> Self {
        let pairs: Vec<_> = pairs
            .into_iter()
            .filter(|(from, to)| from.len() == to.len() && !from.is_empty())
            .map(|(from, to)| Pair::new(from, to))
            .collect();
        Self {
            replaced: vec![0; pairs.len()],
            pairs,
            spelled: Vec::new(),
            respelled: 0,
            waiting: Vec::new(),
            gone: 0,
        }
    }

    /// Replaces the first of each pair as well where its characters are written in other ways.
    pub(super) fn spelled(mut self, spelled: Vec<Spelled>) -> Self {
        self.spelled = spelled;
        self
    }

    /// Takes a part; gives what can go on.
    pub(crate) fn part(&mut self, part: &[u8]) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.waiting);
        bytes.extend_from_slice(part);
        let mut open = self.replace(&mut bytes);
        open.add(self.open_end(&bytes));
        let Open { keep, hold } = open;
        let out = bytes[self.gone..bytes.len() - hold].to_vec();
        self.waiting = bytes.split_off(bytes.len() - keep);
        self.gone = keep - hold;
        out
    }

    /// What is left when no more parts come.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        let gone = std::mem::take(&mut self.gone);
        let rest = std::mem::take(&mut self.waiting);
        self.whole(&rest).split_off(gone)
    }

    /// All of a text.
    pub(crate) fn whole(&mut self, text: &[u8]) -> Vec<u8> {
        // What ends with the text is followed by something that is part of nothing.
        let mut bytes = [text, &[0]].concat();
        self.replace(&mut bytes);
        bytes.truncate(text.len());
        bytes
    }

    /// How much waits for the next part.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len() - self.gone
    }

    /// Whether a text, in whatever case, holds one of those that are replaced.
    pub(crate) fn has(&self, text: &[u8]) -> bool {
        let holds = |from: &[u8]| {
            text.windows(from.len())
                .any(|part| part.eq_ignore_ascii_case(from))
        };
        self.pairs.iter().any(|pair| holds(pair.from.needle()))
            || spelled::is_in(&self.spelled, &[text, &[0]].concat())
    }

    /// How many were replaced since the last call.
    pub(crate) fn take_count(&mut self) -> u64 {
        let n: usize = self.replaced.iter_mut().map(std::mem::take).sum();
        n as u64 + std::mem::take(&mut self.respelled)
    }

    /// What more bytes could make of the end is said of what is written in other ways alone.
    fn replace(&mut self, bytes: &mut [u8]) -> Open {
        for (pair, replaced) in self.pairs.iter().zip(&mut self.replaced) {
            let mut from = 0;
            while let Some(at) = pair.from.find(&bytes[from..]) {
                let at = from + at;
                bytes[at..at + pair.to.len()].copy_from_slice(&pair.to);
                from = at + pair.to.len();
                *replaced += 1;
            }
        }
        if self.spelled.is_empty() {
            return Open::default();
        }
        let (respelled, open) = spelled::replace(&self.spelled, bytes);
        self.respelled += respelled;
        open
    }

    /// How many bytes at the end could be the beginning of one of the texts, and how many of them
    /// could become others.
    fn open_end(&self, bytes: &[u8]) -> Open {
        let of = |needle: &[u8]| {
            let longest = (needle.len() - 1).min(bytes.len());
            (1..=longest)
                .rev()
                .find(|n| bytes.ends_with(&needle[..*n]))
                .unwrap_or(0)
        };
        let mut open = Open::default();
        for pair in &self.pairs {
            let keep = of(pair.from.needle());
            let hold = keep.saturating_sub(pair.common);
            open.add(Open { keep, hold });
        }
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_replaced_does_not_depend_on_the_parts(
            text in "[abxy]{0,200}", sizes in proptest::collection::vec(1usize..9, 1..50),
        ) {
            let pairs = [("abab", "ABAB"), ("aabx", "1234"), ("yyxa", "yyxB")];
            let whole = Replacer::new(pairs).whole(text.as_bytes());
            let mut replacer = Replacer::new(pairs);
            let (mut out, mut rest) = (Vec::new(), text.as_bytes());
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (part, after) = rest.split_at((*size).min(rest.len()));
                out.extend(replacer.part(part));
                prop_assert!(replacer.waiting.len() < 4);
                rest = after;
            }
            out.extend(replacer.end());
            prop_assert_eq!(out.len(), text.len());
            // Overlapping texts may be cut in another way, but none is left.
            for gone in ["abab", "aabx", "yyxa"] {
                prop_assert!(!String::from_utf8_lossy(&out).contains(gone));
                prop_assert!(!String::from_utf8_lossy(&whole).contains(gone));
            }
        }
    }

    #[test]
    fn what_begins_like_one_waits_and_the_rest_goes_on() {
        let mut replacer = Replacer::new([("secret-value", "XXXXXXXXXXXX")]);
        assert_eq!(replacer.part(b"data: secret-"), b"data: ");
        assert_eq!(replacer.part(b"other\n"), b"secret-other\n");
        assert_eq!(replacer.part(b"secret-val"), b"");
        assert_eq!(replacer.part(b"ue."), b"XXXXXXXXXXXX.");
        assert_eq!(replacer.replaced, [1]);
    }

    #[test]
    fn a_beginning_that_both_have_does_not_wait() {
        let mut replacer = Replacer::new([("key-value", "key-other")]);
        assert_eq!(replacer.part(b"a key-"), b"a key-");
        assert_eq!(replacer.part(b"v"), b"");
        assert_eq!(replacer.waiting(), 1);
        assert_eq!(replacer.part(b"alue key-v"), b"other key-");
        assert_eq!(replacer.end(), b"v");
    }
}
