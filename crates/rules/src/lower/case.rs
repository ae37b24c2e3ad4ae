//! Texts compared without regard to the case of ASCII letters, without a copy in lower case. The
//! other text is in lower case already.

use memchr::{memchr, memchr2};

/// Needles up to this length are looked for in place; the work is at most the product of the two
/// lengths. Longer ones are looked for in a copy.
pub(crate) const LONGEST_IN_PLACE: usize = 64;

pub(crate) fn starts_with_folded(text: &str, lower: &str) -> bool {
    let start = text.as_bytes().get(..lower.len());
    start.is_some_and(|start| same(start, lower))
}

pub(crate) fn ends_with_folded(text: &str, lower: &str) -> bool {
    let start = text.len().checked_sub(lower.len());
    start.is_some_and(|start| same(&text.as_bytes()[start..], lower))
}

/// Whether bytes are a text in lower case once their ASCII letters are.
pub(crate) fn same(bytes: &[u8], lower: &str) -> bool {
    bytes.len() == lower.len()
        && bytes
            .iter()
            .zip(lower.bytes())
            .all(|(a, b)| a.to_ascii_lowercase() == b)
}

pub(crate) fn contains_folded(text: &str, lower: &str) -> bool {
    let Some(first) = lower.bytes().next() else {
        return true;
    };
    let text = text.as_bytes();
    let Some(last) = text.len().checked_sub(lower.len()) else {
        return false;
    };
    if lower.len() > LONGEST_IN_PLACE {
        return memchr::memmem::find(&text.to_ascii_lowercase(), lower.as_bytes()).is_some();
    }
    let upper = first.to_ascii_uppercase();
    let mut from = 0;
    while from <= last {
        let rest = &text[from..=last];
        let found = match upper == first {
            true => memchr(first, rest),
            false => memchr2(first, upper, rest),
        };
        let Some(at) = found.map(|at| from + at) else {
            return false;
        };
        if same(&text[at..at + lower.len()], lower) {
            return true;
        }
        from = at + 1;
    }
    false
}
