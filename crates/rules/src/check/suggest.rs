//! What somebody may have meant.

use bailiwick_event::fields::{EventType, Field};

/// The nearest of some names, if it is near.
pub(super) fn nearest<'n>(
    wrong: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    let limit = 1 + wrong.len() / 4;
    names
        .into_iter()
        .map(|name| (distance(wrong, name), name))
        .filter(|(far, _)| *far <= limit)
        .min()
        .map(|(_, name)| name)
}

/// The field that somebody may have meant, among those that such an event can have.
pub(super) fn field(wrong: &str, on: Option<EventType>) -> Option<&'static str> {
    let can = |family| on.is_none_or(|on| on.families().contains(family));
    let fields = || Field::ALL.iter().filter(|info| can(&info.family));
    let paths = || fields().map(|info| info.path);
    // The last words alone are what people remember.
    let end = format!(".{wrong}");
    paths()
        .find(|path| path.ends_with(&end))
        .or_else(|| nearest(wrong, paths()))
}

/// Insertions, removals, replacements and swaps of neighbours between two texts.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > 24 || a.len() > 128 {
        return usize::MAX;
    }
    let mut rows = vec![vec![0usize; b.len() + 1]; 3];
    rows[1] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        rows[2][0] = i;
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[1][j] + 1).min(rows[2][j - 1] + 1);
            least = least.min(rows[1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[0][j - 2] + 1);
            }
            rows[2][j] = least;
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}
