//! "Did you mean …?" A suggestion that is far from what was written sends people the wrong way,
//! so none is given beyond a third of the word's length.

/// The candidate that `word` was probably meant to be: insertions, deletions, replacements and swaps
/// of neighbours lead to it, at most one for each three characters.
#[must_use]
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(64).flat_map(char::to_lowercase).collect();
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        let keys = ["read", "write", "private", "deny", "protect"];
        assert_eq!(closest("raed", keys), Some("read"));
        assert_eq!(closest("Writ", keys), Some("write"));
        assert_eq!(closest("protected", keys), Some("protect"));
        assert_eq!(closest("banana", keys), None);
        assert_eq!(closest("", keys), None);
        assert_eq!(closest(&"x".repeat(100_000), keys), None);
    }
}
