//! Puts texts in the place of others of the same length, in bytes that come in parts: what could be
//! the beginning of one waits for the next part, and nothing else does.

use memchr::memmem::Finder;

/// Replaces texts.
pub(crate) struct Replacer {
    pairs: Vec<(Finder<'static>, Vec<u8>)>,
    /// The end of what came, which may be the beginning of one.
    waiting: Vec<u8>,
    /// How often each was replaced.
    pub(crate) replaced: Vec<usize>,
}

impl Replacer {
    /// Replaces the first of each pair by the second, which is as long.
    pub(crate) fn new<'p>(pairs: impl IntoIterator<Item = (&'p str, &'p str)>) -> Self {
        let pairs: Vec<_> = pairs
            .into_iter()
            .filter(|(from, to)| from.len() == to.len() && !from.is_empty())
            .map(|(from, to)| (Finder::new(from).into_owned(), to.as_bytes().to_vec()))
            .collect();
        Self {
            replaced: vec![0; pairs.len()],
            pairs,
            waiting: Vec::new(),
        }
    }

    /// Takes a part; gives what can go on.
    pub(crate) fn part(&mut self, part: &[u8]) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.waiting);
        bytes.extend_from_slice(part);
        self.replace(&mut bytes);
        let keep = self.open_end(&bytes);
        self.waiting = bytes.split_off(bytes.len() - keep);
        bytes
    }

    /// What is left when no more parts come.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.waiting)
    }

    /// All of a text.
    pub(crate) fn whole(&mut self, text: &[u8]) -> Vec<u8> {
        let mut bytes = text.to_vec();
        self.replace(&mut bytes);
        bytes
    }

    /// How much waits for the next part.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn replace(&mut self, bytes: &mut [u8]) {
        for ((finder, to), replaced) in self.pairs.iter().zip(&mut self.replaced) {
            let mut from = 0;
            while let Some(at) = finder.find(&bytes[from..]) {
                let at = from + at;
                bytes[at..at + to.len()].copy_from_slice(to);
                from = at + to.len();
                *replaced += 1;
            }
        }
    }

    /// How many bytes at the end could be the beginning of one of the texts.
    fn open_end(&self, bytes: &[u8]) -> usize {
        let of = |needle: &[u8]| {
            let longest = (needle.len() - 1).min(bytes.len());
            (1..=longest)
                .rev()
                .find(|n| bytes.ends_with(&needle[..*n]))
                .unwrap_or(0)
        };
        self.pairs
            .iter()
            .map(|(f, _)| of(f.needle()))
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_replaced_does_not_depend_on_the_parts(
            text in "[abx]{0,200}", sizes in proptest::collection::vec(1usize..9, 1..50),
        ) {
            let pairs = [("abab", "ABAB"), ("aabx", "1234")];
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
            for gone in ["abab", "aabx"] {
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
}
