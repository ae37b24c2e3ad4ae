//! What a run leaves for programs of the host, as it is told by the broker and kept by the supervisor until the end.

use super::Left;
use super::host::{CUT, LINK, MOVED, STORED, is_gone};
use std::collections::BTreeSet;

/// So many of a kind are listed in a run.
const LISTED: usize = 4096;

/// Each once, of every kind so many: files cannot take the place of what git's settings say, or links.
#[derive(Debug, Default)]
pub(crate) struct Lefts([Share; 5]);

/// Those of one kind. What is gone by the time that there are too many counts no more.
#[derive(Debug, Default)]
struct Share {
    known: BTreeSet<Left>,
    cut: bool,
}

/// The kind of a row.
fn kind_of(row: u32) -> usize {
    match row {
        LINK => 0,
        MOVED => 1,
        STORED => 2,
        OWN.. => 3,
        _ => 4,
    }
}

/// The rows that no table and no policy has are the last.
const OWN: u32 = u32::MAX - 1000;

impl Lefts {
    /// Whether it was not known. Of those that are too many the first says so.
    pub(crate) fn add(&mut self, left: Left) -> Option<Left> {
        self.0[kind_of(left.row)].add(left)
    }

    /// It counts as not known.
    pub(crate) fn forget(&mut self, left: &Left) {
        for share in &mut self.0 {
            share.known.remove(left);
            share.cut &= left.row != CUT;
        }
    }

    /// All of them.
    pub(crate) fn take(&mut self) -> BTreeSet<Left> {
        let shares = self.0.iter_mut();
        shares
            .flat_map(|share| std::mem::take(&mut share.known))
            .collect()
    }
}

impl Share {
    fn add(&mut self, mut left: Left) -> Option<Left> {
        if self.known.contains(&left) {
            return None;
        }
        if self.known.len() >= LISTED {
            self.known.retain(|left| !is_gone(&left.path));
        }
        if self.known.len() >= LISTED {
            left.stands_for_more();
            if std::mem::replace(&mut self.cut, true) {
                return None;
            }
        }
        self.known.insert(left.clone());
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::{ADDRESS, FIRST};
    use super::*;

    #[test]
    fn what_is_gone_takes_no_place_and_what_is_too_much_is_said_once() {
        let dir = tempfile::tempdir().unwrap();
        let at = |number: usize| Left {
            path: dir.path().join(number.to_string()),
            row: FIRST,
        };
        let mut lefts = Lefts::default();
        for number in 0..LISTED {
            assert_eq!(lefts.add(at(number)), Some(at(number)));
        }
        assert_eq!(lefts.add(at(LISTED)), Some(at(LISTED)));
        assert_eq!(lefts.take(), BTreeSet::from([at(LISTED)]));
        for number in 0..LISTED {
            std::fs::write(at(number).path, "").unwrap();
            lefts.add(at(number));
        }
        let more = lefts.add(at(LISTED)).unwrap();
        assert_eq!((&more.path, more.row), (&at(LISTED).path, CUT));
        assert_eq!(lefts.add(at(LISTED + 1)), None);
        // What is of another kind has its place yet.
        for row in [LINK, MOVED, STORED, ADDRESS] {
            let other = Left {
                row,
                ..at(LISTED + 2)
            };
            assert_eq!(lefts.add(other.clone()), Some(other));
        }
        lefts.forget(&more);
        assert_eq!(lefts.add(at(LISTED)), Some(more));
    }
}
