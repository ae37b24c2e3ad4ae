//! "Did you mean …?" A suggestion that is far from what was written sends people the wrong way,
//! so none is given beyond a third of the word's length.

/// The candidate that `word` was probably meant to be.
pub(crate) fn closest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(64).flat_map(char::to_lowercase).collect();
    let limit = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|c| (distance(&word, &c.chars().collect::<Vec<_>>()), c))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from `a` to `b`.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
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
