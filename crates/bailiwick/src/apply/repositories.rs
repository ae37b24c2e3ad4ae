//! Repositories of git's among the files of an apply.

use bailiwick_transfer::{Change, Changes, Listing, with_above};
use std::collections::BTreeSet;

/// The folders of repositories, by their paths.
pub(super) type Repositories<'a> = BTreeSet<&'a [u8]>;

/// A name in a folder.
fn within(folder: &[u8], name: &[u8]) -> Vec<u8> {
    match folder {
        b"" => name.to_vec(),
        folder => [folder, b"/", name].concat(),
    }
}

/// What git keeps repositories in, before or now: what is called `.git`, and folders that look like one.
pub(super) fn repositories<'a>(before: &'a Listing, after: &'a Listing) -> Repositories<'a> {
    let of = |listing: &'a Listing| {
        let paths = listing.0.keys().map(Vec::as_slice);
        paths.filter_map(move |path| {
            let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
                Some(at) => (path.get(..at)?, path.get(at + 1..)?),
                None => (b"".as_slice(), path),
            };
            let has = |name: &[u8]| listing.0.contains_key(&within(folder, name));
            match name {
                b".git" => Some(path),
                b"HEAD" => (has(b"objects") || has(b"refs")).then_some(folder),
                _ => None,
            }
        })
    };
    of(before).chain(of(after)).collect()
}

/// Leaves out that git's objects are removed, where their repository stays: one on the other side may still need
/// those that this side has packed anew, or never had. `git gc` removes what nobody needs.
pub(super) fn keep_objects(changes: &mut Changes, git: &Repositories<'_>) {
    let stay = git
        .iter()
        .filter(|git| changes.get(&within(git, b"HEAD")) != Some(&Change::Gone));
    let objects: BTreeSet<Vec<u8>> = stay.map(|git| within(git, b"objects")).collect();
    let is_object = |path: &[u8]| with_above(path).any(|above| objects.contains(above));
    changes.retain(|path, change| *change != Change::Gone || !is_object(path));
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_transfer::Entry;

    fn listing(paths: &[&str]) -> Listing {
        let entry = |path: &&str| (path.as_bytes().to_vec(), Entry::gone(path.as_bytes()));
        Listing(paths.iter().map(entry).collect())
    }

    fn left(gone: &[&str], before: &[&str]) -> Vec<String> {
        let gone = gone
            .iter()
            .map(|path| (path.as_bytes().to_vec(), Change::Gone));
        let mut changes: Changes = gone.collect();
        let (before, after) = (listing(before), listing(&[]));
        keep_objects(&mut changes, &repositories(&before, &after));
        let left = changes
            .into_keys()
            .map(|path| String::from_utf8(path).unwrap());
        left.collect()
    }

    #[test]
    fn objects_stay_where_their_repository_does() {
        let there = [
            "a/.git",
            "a/.git/HEAD",
            "a/.git/objects/12/3",
            "bare/HEAD",
            "bare/objects",
            "bare/refs",
        ];
        let gone = [
            "a/.git/objects/12/3",
            "a/.git/refs/heads/x",
            "bare/objects",
            "objects/1",
        ];
        assert_eq!(left(&gone, &there), ["a/.git/refs/heads/x", "objects/1"]);
        let all = ["a/.git", "a/.git/HEAD", "a/.git/objects/12/3"];
        assert_eq!(left(&all, &there), all);
        let bare = ["HEAD", "objects/12/3", "refs"];
        assert_eq!(left(&["objects/12/3", "refs"], &bare), ["refs"]);
    }
}
