use super::*;
use crate::Only;
use crate::compare::{Change, Changes, compare};
use crate::tree::{Tree, any_tree, changes, done, listing, packed, sent, told};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use tempfile::{TempDir, tempdir};

/// A folder `top` with a file, a folder with a file, and a link.
fn planted() -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let top = folder.path().join("top");
    fs::create_dir_all(top.join("folder")).unwrap();
    fs::write(top.join("file"), "old").unwrap();
    fs::write(top.join("folder/inside"), "old").unwrap();
    symlink("file", top.join("link")).unwrap();
    (folder, top)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    fs::read_dir(folder).unwrap().map(name).collect()
}

/// Everything that is to be sent so that a folder becomes as another is: what is in the way of something is gone
/// before it, and all else behind everything.
fn to_send(from: &Path, changes: &Changes) -> Vec<u8> {
    let is_put = |path: &[u8]| changes.get(path).is_some_and(|c| *c != Change::Gone);
    let in_the_way = |path: &[u8]| {
        let mut slashes = (0..path.len()).filter(|at| path[*at] == b'/');
        slashes.any(|at| is_put(&path[..at]))
    };
    let gone = |first: bool| {
        let all = changes.iter().rev();
        let all = all.filter(|(path, c)| **c == Change::Gone && in_the_way(path) == first);
        all.fold(sent(), |sent, (path, _)| sent.entry_as(&Entry::gone(path)))
    };
    let wanted = changes
        .iter()
        .filter(|(_, change)| **change != Change::Gone);
    let wanted: BTreeSet<Vec<u8>> = wanted.map(|(path, _)| path.clone()).collect();
    let mut put = packed(from, Only::These(&wanted));
    // Without the end.
    let mut end = Vec::new();
    crate::Writer::new(&mut end).end().unwrap();
    put.truncate(put.len() - end.len());
    [gone(true).cut(), put, gone(false).end()].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_was_changed_makes_one_tree_of_the_other(one in any_tree(), other in any_tree()) {
        let folder = tempdir().unwrap();
        let (here, there) = (folder.path().join("here"), folder.path().join("there"));
        one.make(&here);
        other.make(&there);
        let before = listing(&here);
        let changes = compare(&before, &listing(&there));
        let told = told(&here, Some(before), &to_send(&there, &changes));
        prop_assert!(told.iter().all(|(_, what)| *what == What::Done), "{told:?}");
        prop_assert_eq!(told.len(), changes.len());
        prop_assert!(compare(&listing(&here), &listing(&there)).is_empty());
        prop_assert_eq!(timeless(Tree::of(&here)), timeless(other));
    }
}

/// Without the times of folders, which are those of their entries.
fn timeless(tree: Tree) -> Tree {
    match tree {
        Tree::Folder(mode, _, below) => {
            let below = below.into_iter().map(|(name, tree)| (name, timeless(tree)));
            Tree::Folder(mode, (0, 0), below.collect())
        }
        other => other,
    }
}

#[test]
fn permissions_and_times_come_with_everything() {
    let folder = tempdir().unwrap();
    let top = folder.path().join("top");
    let bytes = sent().folder("").folder("d").file("d/f", "contents").end();
    assert_eq!(told(&top, None, &bytes), done(&["", "d", "d/f"]));
    for path in ["", "d", "d/f"] {
        let found = fs::metadata(top.join(path)).unwrap();
        assert_eq!(found.mode() & 0o7777, 0o750, "{path}");
        assert_eq!((found.mtime(), found.mtime_nsec()), (1, 2), "{path}");
    }
}

#[test]
fn folders_that_may_not_be_written_are_filled() {
    let folder = tempdir().unwrap();
    let top = folder.path().join("top");
    let closed = |path: &str| Entry {
        mode: 0,
        ..Entry::bare(path.as_bytes(), Kind::Folder)
    };
    let bytes = sent()
        .entry_as(&closed(""))
        .entry_as(&closed("d"))
        .file("d/f", "x")
        .end();
    assert_eq!(told(&top, None, &bytes), done(&["", "d", "d/f"]));
    assert_eq!(fs::symlink_metadata(&top).unwrap().mode() & 0o7777, 0);
    for path in ["", "d"] {
        fs::set_permissions(top.join(path), fs::Permissions::from_mode(0o700)).unwrap();
    }
    assert_eq!(fs::read(top.join("d/f")).unwrap(), b"x");
}

#[test]
fn a_folder_keeps_the_bits_that_do_not_travel() {
    let (_folder, top) = planted();
    let inner = top.join("folder");
    for own in [0o1000, 0o2000] {
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o700 | own)).unwrap();
        told(&top, None, &sent().folder("folder").end());
        assert_eq!(fs::metadata(&inner).unwrap().mode() & 0o7777, 0o750 | own);
    }
}

#[test]
fn each_kind_takes_the_place_of_each() {
    let kinds = ["file", "folder", "link"];
    for from in kinds {
        for to in kinds {
            let (_folder, top) = planted();
            fs::remove_file(top.join("folder/inside")).unwrap();
            let before = listing(&top);
            let bytes = match to {
                "file" => sent().file(from, "new"),
                "folder" => sent().folder(from),
                _ => sent().link(from, "elsewhere"),
            };
            assert_eq!(
                told(&top, Some(before.clone()), &bytes.end()),
                done(&[from])
            );
            let now = fs::symlink_metadata(top.join(from)).unwrap().file_type();
            let is = [now.is_file(), now.is_dir(), now.is_symlink()];
            assert_eq!(is, kinds.map(|kind| kind == to), "{from} became {to}");
            assert_eq!(
                names(&top),
                kinds.map(str::to_owned).into(),
                "nothing lies beside"
            );
            assert!(
                changes(&before, &listing(&top))
                    .iter()
                    .all(|(path, _)| path == from)
            );
        }
    }
}

#[test]
fn a_folder_that_is_not_empty_stays() {
    for (before, is) in [(false, "cp"), (true, "apply")] {
        let (_folder, top) = planted();
        let before = before.then(|| listing(&top));
        let bytes = sent().file("folder", "new").link("folder", "x").end();
        let refused = What::Refused(Errno::NOTEMPTY.raw_os_error());
        let expected = ["folder"; 2].map(|path| (path.to_owned(), refused));
        assert_eq!(told(&top, before, &bytes), expected, "{is}");
        assert_eq!(fs::read(top.join("folder/inside")).unwrap(), b"old");
        assert_eq!(names(&top).len(), 3, "nothing lies beside");
    }
}

#[test]
fn what_cannot_be_made_leaves_what_is_there() {
    let (_folder, top) = planted();
    for path in ["file", "folder", "link"] {
        let before = Tree::of(&top);
        // No link leads nowhere at all.
        let told = told(&top, None, &sent().link(path, "").end());
        assert_eq!(
            told,
            [(path.to_owned(), What::Refused(Errno::NOENT.raw_os_error()))]
        );
        match (before, Tree::of(&top)) {
            (Tree::Folder(.., before), Tree::Folder(.., after)) => assert_eq!(before, after),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_has_another_name_keeps_its_contents() {
    let (folder, top) = planted();
    let other = folder.path().join("other");
    fs::hard_link(top.join("file"), &other).unwrap();
    told(&top, None, &sent().file("file", "new").end());
    assert_eq!(fs::read(top.join("file")).unwrap(), b"new");
    assert_eq!(fs::read(other).unwrap(), b"old");
}

#[test]
fn half_a_file_is_not_placed() {
    for path in ["file", "new", "link"] {
        let (_folder, top) = planted();
        let before = Tree::of(&top.join("file"));
        let bytes = sent()
            .begun(path, "half")
            .taken_back(5)
            .file("after", "whole")
            .end();
        let told = told(&top, None, &bytes);
        assert_eq!(
            told,
            [
                (path.to_owned(), What::Unread(5)),
                ("after".to_owned(), What::Done)
            ]
        );
        assert_eq!(Tree::of(&top.join("file")), before);
        assert_eq!(
            names(&top),
            ["after", "file", "folder", "link"]
                .map(str::to_owned)
                .into()
        );
    }
}

#[test]
fn the_name_beside_may_be_taken() {
    let (_folder, top) = planted();
    let process = std::process::id();
    for at in 1..5 {
        fs::write(top.join(format!(".bailiwick-{process}-{at}")), "left").unwrap();
    }
    let bytes = sent()
        .file("file", "new")
        .link("link", "new")
        .folder("file")
        .end();
    assert_eq!(told(&top, None, &bytes), done(&["file", "link", "file"]));
    assert_eq!(names(&top).len(), 3 + 4);
    for at in 1..5 {
        assert_eq!(
            fs::read(top.join(format!(".bailiwick-{process}-{at}"))).unwrap(),
            b"left"
        );
    }
}

#[test]
fn what_was_changed_since_is_left_alone() {
    let (_folder, top) = planted();
    let before = listing(&top);
    fs::write(top.join("file"), "here").unwrap();
    fs::remove_file(top.join("link")).unwrap();
    fs::write(top.join("new"), "here").unwrap();
    fs::set_permissions(top.join("folder"), fs::Permissions::from_mode(0o711)).unwrap();
    let now = Tree::of(&top);
    let bytes = sent()
        .file("file", "there")
        .link("link", "there")
        .file("new", "there")
        .folder("folder");
    let bytes = bytes.gone("file").gone("new").gone("folder").end();
    let told = told(&top, Some(before), &bytes);
    assert_eq!(told.len(), 7);
    assert!(
        told.iter().all(|(_, what)| *what == What::Conflict),
        "{told:?}"
    );
    assert_eq!(Tree::of(&top), now);
}

#[test]
fn what_is_as_it_was_sent_already_is_done() {
    let (_folder, top) = planted();
    let before = listing(&top);
    let bytes = sent()
        .file("file", "there")
        .link("new", "there")
        .gone("link")
        .end();
    assert_eq!(
        told(&top, Some(before.clone()), &bytes),
        done(&["file", "new", "link"])
    );
    let now = Tree::of(&top);
    assert_eq!(
        told(&top, Some(before), &bytes),
        done(&["file", "new", "link"])
    );
    assert_eq!(Tree::of(&top), now);
}

#[test]
fn what_is_gone_goes_the_deepest_first() {
    let (_folder, top) = planted();
    let before = listing(&top);
    let wrong = sent().gone("folder").end();
    let refused = What::Refused(Errno::NOTEMPTY.raw_os_error());
    assert_eq!(
        told(&top, Some(before.clone()), &wrong),
        [("folder".to_owned(), refused)]
    );
    let right = sent()
        .gone("folder/inside")
        .gone("folder")
        .gone("folder/inside")
        .end();
    let expected = done(&["folder/inside", "folder", "folder/inside"]);
    assert_eq!(told(&top, Some(before), &right), expected);
    assert!(!top.join("folder").exists());
}

#[test]
fn a_folder_goes_and_comes_again_below_what_was_used_last() {
    let (_folder, top) = planted();
    let before = listing(&top);
    let bytes = sent().gone("folder/inside").file("folder", "").end();
    assert_eq!(
        told(&top, Some(before), &bytes),
        done(&["folder/inside", "folder"])
    );
    let bytes = sent().folder("folder").file("folder/a", "a").end();
    assert_eq!(told(&top, None, &bytes), done(&["folder", "folder/a"]));
}

#[test]
fn what_could_not_be_read_is_told_and_left() {
    let (_folder, top) = planted();
    let now = Tree::of(&top);
    for errno in [13, 0, -1, 70_000, i32::MIN, i32::MAX] {
        let bytes = sent().entry("file", Kind::Skipped { errno }).end();
        for before in [None, Some(listing(&top))] {
            assert_eq!(
                told(&top, before, &bytes),
                [("file".to_owned(), What::Unread(errno))]
            );
        }
    }
    assert_eq!(Tree::of(&top), now);
}

#[test]
fn a_file_goes_where_a_path_says() {
    let (_folder, top) = planted();
    let bytes = sent().file("", "new").end();
    told(&top.join("file"), None, &bytes);
    told(&top.join("none"), None, &bytes);
    // What a link leads to was meant.
    told(&top.join("link"), None, &sent().file("", "newer").end());
    assert_eq!(fs::read(top.join("file")).unwrap(), b"newer");
    assert_eq!(fs::read(top.join("none")).unwrap(), b"new");
    assert!(Unpacker::new(&top.join("none/x"), None).is_err());
    assert!(Unpacker::new(Path::new("/"), None).is_err());
}

/// What a program does while the last bytes come.
struct Meanwhile<'a, F> {
    bytes: &'a [u8],
    act: Option<F>,
}

impl<F: FnOnce()> io::Read for Meanwhile<'_, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes.len() < 64
            && let Some(act) = self.act.take()
        {
            act();
        }
        let most = buffer.len().min(16);
        io::Read::read(&mut self.bytes, &mut buffer[..most])
    }
}

#[test]
fn what_is_written_while_the_contents_come_stays() {
    let (_folder, top) = planted();
    let before = listing(&top);
    let bytes = sent().file("file", &"new".repeat(100)).end();
    let meanwhile = Meanwhile {
        bytes: &bytes,
        act: Some(|| fs::write(top.join("file"), "by the user").unwrap()),
    };
    let mut told = Vec::new();
    let mut unpacker = Unpacker::new(&top, Some(before)).unwrap();
    let ran = unpacker.run(&mut Reader::new(meanwhile), |outcome| {
        told.push(outcome.what);
        Ok(())
    });
    ran.unwrap();
    assert_eq!(told, [What::Conflict]);
    assert_eq!(fs::read_to_string(top.join("file")).unwrap(), "by the user");
    assert_eq!(
        names(&top),
        ["file", "folder", "link"].map(str::to_owned).into()
    );
}
