//! Where a pattern goes on below a link: by another path than its own, a folder may hold what the pattern means.

use bailiwick_policy::PathGlob;
use std::path::Path;

/// The beginnings of a pattern, each with what is left of it.
#[derive(Clone, Debug)]
pub(crate) struct Heads(Vec<(PathGlob, String)>);

impl Heads {
    /// Those of a pattern. What holds at every depth holds in each folder by its own path as well, and is none.
    pub(crate) fn of(glob: &str) -> Self {
        let mut all = Vec::new();
        for glob in expanded(glob) {
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

/// A pattern without alternatives in which a slash stands: of such a one a part cannot be understood.
fn expanded(glob: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![glob.to_owned()];
    while let Some(glob) = open.pop() {
        match first_alternatives(&glob) {
            Some((before, inner, after)) if done.len() + open.len() < MOST => {
                open.extend(inner.split(',').map(|one| format!("{before}{one}{after}")));
            }
            _ => done.push(glob),
        }
    }
    done
}

/// The first alternatives that hold no others, and what stands around them, where a slash stands in any.
fn first_alternatives(glob: &str) -> Option<(&str, &str, &str)> {
    let end = glob.find('}')?;
    let begin = glob[..end].rfind('{')?;
    let (before, inner, after) = (&glob[..begin], &glob[begin + 1..end], &glob[end + 1..]);
    let slashes = || {
        let (mut depth, mut found) = (0_usize, false);
        for byte in glob.bytes() {
            match byte {
                b'{' => depth += 1,
                b'}' => depth = depth.saturating_sub(1),
                b'/' => found |= depth > 0,
                _ => {}
            }
        }
        found
    };
    slashes().then_some((before, inner, after))
}
