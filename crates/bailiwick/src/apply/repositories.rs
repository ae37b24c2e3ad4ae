//! Repositories of git's among the files of an apply.

use bailiwick_transfer::{Change, Changes, Kind, Listing, with_above};
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

/// What git keeps repositories in: what is called `.git`, and folders that look like one.
pub(super) fn repositories_of(listing: &Listing) -> Repositories<'_> {
    let paths = listing.0.keys().map(Vec::as_slice);
    let repository = |path| {
        let (folder, name) = apart(path);
        let has = |name: &[u8]| listing.0.contains_key(&within(folder, name));
        match name {
            b".git" => Some(path),
            b"HEAD" => (has(b"objects") || has(b"refs")).then_some(folder),
            _ => None,
        }
    };
    paths.filter_map(repository).collect()
}

/// A path's folder, and its name there.
fn apart(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// Those that were there before, or are now.
pub(super) fn repositories<'a>(before: &'a Listing, after: &'a Listing) -> Repositories<'a> {
    let (mut before, after) = (repositories_of(before), repositories_of(after));
    before.extend(after);
    before
}

/// What of some repositories is git's alone, which removes much of it by itself: all of a `.git`, and the objects of a
/// folder that looks like a repository, in which other files may lie as well.
pub(super) fn of_git_alone(git: &Repositories<'_>) -> BTreeSet<Vec<u8>> {
    let of = |git: &&[u8]| match apart(git).1 {
        b".git" => git.to_vec(),
        _ => within(git, b"objects"),
    };
    git.iter().map(of).collect()
}

/// The repositories that are removed as a whole.
fn removed<'a>(changes: &Changes, git: &Repositories<'a>) -> Vec<&'a [u8]> {
    let is_gone = |git: &&&[u8]| changes.get(&within(git, b"HEAD")) == Some(&Change::Gone);
    git.iter().filter(is_gone).copied().collect()
}

/// Those of which everything would be lost: they are removed, or nothing names their commits any more.
pub(super) fn lost<'a>(
    before: &Listing,
    after: &Listing,
    changes: &Changes,
    git: &Repositories<'a>,
) -> Vec<&'a [u8]> {
    let removed = removed(changes, git);
    let has_names = |listing: &Listing, git: &[u8]| {
        let refs = within(git, b"refs/");
        let of_refs = listing.0.range(refs.clone()..);
        let mut of_refs = of_refs.take_while(|(path, _)| path.starts_with(&refs));
        of_refs.any(|(_, entry)| matches!(entry.kind, Kind::File { .. }))
            || listing.0.contains_key(&within(git, b"packed-refs"))
    };
    let is_lost =
        |git: &&&[u8]| removed.contains(*git) || has_names(before, git) && !has_names(after, git);
    git.iter().filter(is_lost).copied().collect()
}

/// Leaves out that git's objects are removed, where their repository stays: one on the other side may still need
/// those that this side has packed anew, or never had. `git gc` removes what nobody needs.
pub(super) fn keep_objects(changes: &mut Changes, git: &Repositories<'_>) {
    let removed = removed(changes, git);
    let stay = git.iter().filter(|git| !removed.contains(git));
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
    fn what_is_gits_alone_is_no_file_of_a_folder_that_looks_like_a_repository() {
        let listing = listing(&["HEAD", "refs", "file", "a/.git", "a/.git/HEAD", "a/file"]);
        let git = repositories_of(&listing);
        let alone = of_git_alone(&git);
        assert_eq!(alone, [b"a/.git".to_vec(), b"objects".to_vec()].into());
        let gone = ["file", "a/.git/HEAD"];
        let gone = gone.map(|path| (path.as_bytes().to_vec(), Change::Gone));
        assert_eq!(removed(&gone.into(), &git), [b"a/.git"]);
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
