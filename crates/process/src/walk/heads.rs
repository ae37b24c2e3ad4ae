//! Where a pattern goes on below a link: by another path than its own, a folder may hold what the pattern means.

use bailiwick_policy::{PathGlob, ways};
use std::path::Path;

/// The beginnings of a pattern, each with what is left of it.
#[derive(Clone, Debug)]
pub(crate) struct Heads(Vec<(PathGlob, String)>);

impl Heads {
    /// Those of a pattern. What holds at every depth holds in each folder by its own path as well, and is none.
    pub(crate) fn of(glob: &str) -> Self {
        let mut all = Vec::new();
        // Of alternatives in which a slash stands a part cannot be understood.
        for glob in ways(glob, true, MOST).unwrap_or_else(|| vec![glob.to_owned()]) {
            let parts: Vec<&str> = glob.split('/').collect();
            let head = |at: usize| {
                let (head, mut tail) = parts.split_at(at);
                if head == ["**"] {
                    return None;
                }
                if head.last() == Some(&"**") {
                    // It may stand for more names; what it ends with matches the link itself.
                    tail = &parts[at - 1..];
                    if tail == ["**"] {
                        return None;
                    }
                }
                let compiled = PathGlob::new(&head.join("/")).ok()?;
                Some((compiled, tail.join("/")))
            };
            all.extend((1..parts.len()).filter_map(head));
        }
        Self(all)
    }

    /// What of the pattern could follow a path below its root.
    pub(crate) fn tails(&self, path: &Path) -> impl Iterator<Item = &str> {
        let matching = self.0.iter().filter(move |(head, _)| head.is_match(path));
        matching.map(|(_, tail)| tail.as_str())
    }
}

/// So many patterns are made of one.
const MOST: usize = 256;
