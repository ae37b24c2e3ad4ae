//! A set of small numbers without an allocation: on the stack, or in a place that each thread
//! keeps.

use std::cell::RefCell;

/// Words on the stack: 1,024 rules.
const WORDS: usize = 16;

thread_local! {
    static LARGE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Gives a copy of some words to a function.
#[inline]
pub(super) fn with_copy<T>(of: &[u64], f: impl FnOnce(&mut [u64]) -> T) -> T {
    if of.len() <= WORDS {
        let mut words = [0; WORDS];
        let words = &mut words[..of.len()];
        words.copy_from_slice(of);
        return f(words);
    }
    // A function that came here while it is at work gets a list of its own.
    let mut words = LARGE
        .with(|large| large.try_borrow_mut().map(|mut v| std::mem::take(&mut *v)))
        .unwrap_or_default();
    words.clear();
    words.extend_from_slice(of);
    let result = f(&mut words);
    LARGE.with(|large| {
        if let Ok(mut large) = large.try_borrow_mut() {
            *large = words;
        }
    });
    result
}

/// Adds a number.
#[inline]
pub(super) fn set(words: &mut [u64], number: u32) {
    if let Some(word) = words.get_mut(number as usize / 64) {
        *word |= 1 << (number % 64);
    }
}

/// The numbers in the set, the smallest first.
#[inline]
pub(super) fn each(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(place, word)| {
        let mut word = *word;
        std::iter::from_fn(move || {
            let bit = word.trailing_zeros();
            (word != 0).then(|| {
                word &= word - 1;
                place * 64 + bit as usize
            })
        })
    })
}
