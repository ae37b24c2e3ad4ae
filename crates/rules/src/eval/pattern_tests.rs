use super::{AUTOMATA, AUTOMATA_HERE, Pattern, glob, regex};
use proptest::prelude::*;
use std::cell::Cell;

fn matches(pattern: &Pattern, text: &str) -> bool {
    pattern.is_match(text, |_| true).expect("it has the steps")
}

/// Parts that patterns are made of; put together at random most are patterns.
const PARTS: [&str; 24] = [
    "a", "b", "é", "-", ".", "\\w", "\\b", "\\B", "^", "$", "\\d", "\\s", "[^a]", "[a-c]", "(?i)A",
    "(a|bé)", "(?:ab)*", "?", "*", "+", "{2}", "|", "(?s).", "\\pL",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_pattern_says_what_the_library_of_regular_expressions_says(
        parts in prop::collection::vec(0..PARTS.len(), 0..8),
        texts in prop::collection::vec("[abAé1 \n_-]{0,12}", 1..6),
    ) {
        let pattern: String = parts.iter().map(|part| PARTS[*part]).collect();
        let (ours, theirs) = (regex(&pattern), ::regex::Regex::new(&pattern));
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{}", pattern);
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            for text in texts {
                prop_assert_eq!(matches(&ours, &text), theirs.is_match(&text), "{} {:?}", pattern, text);
            }
        }
    }
}

/// A pattern whose automaton has a state for each text of so many letters.
fn exponential(letters: usize) -> Pattern {
    regex(&format!("(?-u)[ab]*a[ab]{{{letters}}}c")).expect("a pattern")
}

/// Letters without an order that anything could make use of.
fn letters(count: usize) -> String {
    let mut random = 1_u64;
    let mut letter = || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        if random >> 63 == 0 { 'a' } else { 'b' }
    };
    (0..count).map(|_| letter()).collect()
}

#[test]
fn a_pattern_that_has_no_small_automaton_is_matched_while_the_steps_last() {
    let pattern = exponential(200);
    let text = letters(200_000);
    let spent = Cell::new(0);
    let take = |limit: usize| {
        let spent = &spent;
        move |steps| {
            spent.set(spent.get() + steps);
            spent.get() <= limit
        }
    };
    assert_eq!(pattern.is_match(&text, take(100_000)), None);
    spent.set(0);
    assert_eq!(pattern.is_match(&text, take(10_000_000)), Some(false));
    assert!(spent.get() > 200 * 200_000 / 64, "{spent:?}");
    let with = format!("{text}a{}c", &text[..200]);
    assert!(matches(&pattern, &with));
}

#[test]
fn a_word_has_a_boundary_beyond_ascii_too() {
    let pattern = regex(r"\bwört\b").expect("a pattern");
    assert!(matches(&pattern, "ein wört."));
    assert!(!matches(&pattern, "ein wörter"));
    assert!(!matches(&pattern, "éwört"));
}

#[test]
fn the_automata_of_all_patterns_are_bounded_together() {
    let text = letters(50_000);
    let patterns: Vec<_> = (100..160).map(exponential).collect();
    for pattern in &patterns {
        matches(pattern, &text);
        AUTOMATA_HERE.with_borrow(|here| {
            let bytes: usize = here.of.values().map(|cache| cache.memory_usage()).sum();
            assert_eq!(bytes, here.bytes);
            assert!(bytes <= AUTOMATA, "{bytes}");
        });
    }
    let most = glob("**/a?[bc]/{x,y}*").expect("a pattern");
    assert!(matches(&most, "q/r/a1b/yes") && !matches(&most, "q/a1b/z"));
}

#[test]
fn what_was_matched_before_does_not_decide() {
    let pattern = exponential(3_000);
    let probe = format!("{}a{}c", letters(40_000), letters(3_000));
    let asked = |limit: usize| {
        let left = Cell::new(limit);
        pattern.is_match(&probe, |steps| {
            let rest = left.get().checked_sub(steps);
            left.set(rest.unwrap_or(0));
            rest.is_some()
        })
    };
    let before: Vec<_> = [1_000_000, 4_000_000].map(&asked).into();
    for n in 0..500 {
        let _ = pattern.is_match(&letters(300 + n), |_| true);
    }
    assert_eq!([1_000_000, 4_000_000].map(&asked).to_vec(), before);
}

#[test]
fn to_build_an_automaton_costs_steps() {
    let pattern = regex("(?:[ab]*a[ab]{300}c|(?:a?b?){2500}x|q7)").expect("a pattern");
    let spent = Cell::new(0);
    let count = |steps| {
        spent.set(spent.get() + steps);
        true
    };
    assert_eq!(pattern.is_match(&letters(60), count), Some(false));
    assert!(spent.get() > 10_000, "{spent:?}");
}
