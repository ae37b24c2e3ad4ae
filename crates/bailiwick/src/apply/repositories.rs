//! Repositories of git's among the files of an apply.

use bailiwick_transfer::{Change, Changes, Listing};
use std::collections::BTreeSet;

/// A path and the folders that it lies in, without the first one.
pub(super) fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let folders = slashes.map(|(at, _)| path.get(..at).unwrap_or_default());
    folders.chain([path])
}

/// What git keeps repositories in, before or now: what is called `.git`, and folders that look like one.
pub(super) fn repositories<'a>(before: &'a Listing, after: &'a Listing) -> BTreeSet<&'a [u8]> {
    let is = |listing: &Listing, path: &[u8], name: &str| {
        listing.0.contains_key(&[path, name.as_bytes()].concat())
    };
    let of = |listing: &'a Listing| {
        let paths = listing.0.keys().map(Vec::as_slice);
        paths.filter_map(move |path| {
            let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
                Some(at) => path.split_at(at),
                None => (b"".as_slice(), path),
            };
            if matches!(name, b".git" | b"/.git") {
                return Some(path);
            }
            let looks = name == b"/HEAD"
                && (is(listing, folder, "/objects") || is(listing, folder, "/refs"));
            looks.then_some(folder)
        })
    };
    of(before).chain(of(after)).collect()
}

/// Leaves out that git's objects are removed, where their repository stays: one on the other side may still need
/// those that this side has packed anew, or never had. `git gc` removes what nobody needs.
pub(super) fn keep_objects(changes: &mut Changes, before: &Listing, after: &Listing) {
    let folders: Vec<Vec<u8>> = repositories(before, after)
        .into_iter()
        .filter(|git| changes.get(&[git, b"/HEAD".as_slice()].concat()) != Some(&Change::Gone))
        .map(|git| [git, b"/objects".as_slice()].concat())
        .collect();
    let is_object =
        |path: &Vec<u8>| above(path).any(|above| folders.iter().any(|one| one == above));
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
        keep_objects(&mut changes, &listing(before), &listing(&[]));
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
    }
}
