//! Where a pattern goes on below a link: by another path than its own, a folder may hold what the pattern means.

use bailiwick_policy::PathGlob;
use std::path::Path;

/// The beginnings of a pattern, each with what is left of it.
pub(crate) struct Heads(Vec<(PathGlob, String)>);

impl Heads {
    /// Those of a pattern. What holds at every depth holds in each folder by its own path as well, and is none.
    pub(crate) fn of(glob: &str) -> Self {
        let parts: Vec<&str> = glob.split('/').collect();
        let head = |at: usize| {
            let (head, mut tail) = parts.split_at(at);
            if head == ["**"] {
                return None;
            }
            if head.last() == Some(&"**") {
                // It may stand for more names.
                tail = &parts[at - 1..];
            }
            // An alternative that a slash stands in has no head that could be understood.
            let compiled = PathGlob::new(&head.join("/")).ok()?;
            (tail != ["**"]).then(|| (compiled, tail.join("/")))
        };
        Self((1..parts.len()).filter_map(head).collect())
    }

    /// What of the pattern could follow a path below its root.
    pub(crate) fn tails(&self, path: &Path) -> impl Iterator<Item = &str> {
        let matching = self.0.iter().filter(move |(head, _)| head.is_match(path));
        matching.map(|(_, tail)| tail.as_str())
    }
}
