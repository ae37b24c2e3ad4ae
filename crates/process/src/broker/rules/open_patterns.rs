//! What of a pattern is still to be matched below a folder.

use super::asked::parts;
use bailiwick_policy::{PathGlob, ways};
use std::collections::BTreeSet;
use std::path::Path;

/// A pattern, in as many ways as alternatives with slashes give it.
#[derive(Clone, Debug)]
pub(super) struct OpenPattern(Vec<Way>);

/// One of them, part by part.
#[derive(Clone, Debug)]
struct Way(Vec<Part>);

/// A pattern is taken apart in so many ways; in one that has more, what stands in such braces is not known.
const WAYS: usize = 64;

#[derive(Clone, Debug)]
enum Part {
    /// `**`: any folders, and at the end of a pattern any names.
    Any,
    One(Box<PathGlob>),
    /// With alternatives in which slashes stand.
    Unknown,
}

impl OpenPattern {
    pub(super) fn of(glob: &str) -> Self {
        let ways = ways(glob, true, WAYS).unwrap_or_else(|| vec![glob.to_owned()]);
        Self(ways.iter().map(|way| Way::of(way)).collect())
    }

    /// Whether the pattern can match something below a path that nothing makes it match below every other as well. One
    /// that begins with `**` holds for every folder, and so where a link leads.
    pub(super) fn is_open_at(&self, below: &Path) -> bool {
        self.0.iter().any(|way| !way.open(below).is_empty())
    }

    /// Whether something below a folder could be matched and not be matched any more when the folder is moved. What stands
    /// before a `**` has to be left as it is.
    pub(super) fn may_lose(&self, from: &Path, to: &Path) -> bool {
        self.0.iter().any(|way| way.may_lose(from, to))
    }
}

impl Way {
    fn of(glob: &str) -> Self {
        let part = |part: &str| match part {
            "**" => Part::Any,
            part if part.contains('/') => Part::Unknown,
            part => PathGlob::new(part).map_or(Part::Unknown, |glob| Part::One(Box::new(glob))),
        };
        Self(split(glob).into_iter().map(part).collect())
    }

    fn may_lose(&self, from: &Path, to: &Path) -> bool {
        let first = self.0.iter().position(|part| matches!(part, Part::Any));
        let kept = self.reached(to, false);
        let mut open = self.open(from).into_iter();
        open.any(|at| first.is_none_or(|first| at < first) || !kept.contains(&at))
    }

    /// The parts that the rest of a pattern may begin with below a path, without those with which it may everywhere.
    fn open(&self, below: &Path) -> BTreeSet<usize> {
        let everywhere = match self.0.first() {
            Some(Part::Any) => self.reached(Path::new(""), false),
            _ => BTreeSet::new(),
        };
        let mut open = self.reached(below, true);
        open.retain(|at| *at < self.0.len() && !everywhere.contains(at));
        open
    }

    /// The parts that the rest of a pattern may begin with below a path; its length where the path is matched. What is not
    /// known counts as any names, or as none.
    fn reached(&self, below: &Path, unknown: bool) -> BTreeSet<usize> {
        let mut reached = BTreeSet::from([0]);
        self.skip(&mut reached, unknown);
        for name in parts(below) {
            let mut next = BTreeSet::new();
            for at in reached {
                match self.0.get(at) {
                    Some(Part::Any) => next.extend([at, at + 1]),
                    Some(Part::Unknown) if unknown => next.extend([at, at + 1]),
                    Some(Part::One(glob)) if glob.is_match(name) => next.extend([at + 1]),
                    _ => {}
                }
            }
            reached = next;
            self.skip(&mut reached, unknown);
        }
        reached
    }

    /// Adds what follows a part that stands for no name as well.
    fn skip(&self, reached: &mut BTreeSet<usize>, unknown: bool) {
        for (at, part) in self.0.iter().enumerate() {
            let may_be_none = match part {
                Part::Any => at + 1 < self.0.len(),
                Part::Unknown => unknown,
                Part::One(_) => false,
            };
            if may_be_none && reached.contains(&at) {
                reached.insert(at + 1);
            }
        }
    }
}

/// The parts of a pattern between slashes that stand in no braces.
fn split(glob: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut escaped) = (Vec::new(), 0, 0_usize, false);
    for (at, byte) in glob.bytes().enumerate() {
        match byte {
            _ if escaped => {}
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'/' if depth == 0 => {
                parts.push(&glob[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
        escaped = byte == b'\\' && !escaped;
    }
    parts.push(&glob[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_with_slashes_are_ways_of_their_own() {
        let open = |glob: &str, below: &str| OpenPattern::of(glob).is_open_at(Path::new(below));
        assert!(open("{ops,x/ops}/*.sh", "ops") && open("{ops,x/ops}/*.sh", "x"));
        assert!(!open("{ops,x/ops}/*.sh", "fine") && !open("{ops,x/ops}/*.sh", "x/y"));
        // What is too much is not known.
        assert!(open(&"{a/b,c}/".repeat(7), "fine"));
    }
}
