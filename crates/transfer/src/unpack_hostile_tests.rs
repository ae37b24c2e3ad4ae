use super::*;
use crate::tree::{Tree, done, listing, sent, told, unpacked};
use rustix::fs::{CWD, FileType, mknodat};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::{TempDir, tempdir};

/// A folder `outside` that nobody may change, and a folder `top` beside it.
struct World {
    folder: TempDir,
    outside: Tree,
}

impl World {
    fn new() -> Self {
        let folder = tempdir().unwrap();
        let outside = folder.path().join("outside");
        fs::create_dir_all(outside.join("folder")).unwrap();
        fs::write(outside.join("file"), "kept").unwrap();
        fs::create_dir(folder.path().join("top")).unwrap();
        Self {
            outside: Tree::of(&outside),
            folder,
        }
    }

    fn top(&self) -> PathBuf {
        self.folder.path().join("top")
    }

    fn is_kept(&self) {
        assert_eq!(Tree::of(&self.folder.path().join("outside")), self.outside);
        assert_eq!(
            fs::read_dir(self.folder.path()).unwrap().count(),
            2,
            "something lies beside"
        );
    }
}

fn refused(path: &str, errno: Errno) -> (String, What) {
    (path.to_owned(), What::Refused(errno.raw_os_error()))
}

#[test]
fn paths_that_lead_elsewhere_end_everything() {
    let long = "n".repeat(256);
    let outside = World::new();
    let absolute = outside.folder.path().join("outside/new");
    let absolute = absolute.to_str().unwrap();
    for path in [
        absolute,
        "../outside/new",
        "a/../../outside/new",
        "..",
        ".",
        "./a",
        "a//b",
        "a/",
        "a\0b",
        &long,
    ] {
        let world = World::new();
        let bytes = sent()
            .folder("a")
            .file(path, "bad")
            .file("after", "x")
            .end();
        let (told, ended) = unpacked(&world.top(), None, &bytes);
        assert_eq!(
            ended.unwrap_err().kind(),
            io::ErrorKind::InvalidData,
            "{path:?}"
        );
        assert_eq!(told, done(&["a"]));
        assert!(!world.top().join("after").exists());
        world.is_kept();
    }
    outside.is_kept();
}

#[test]
fn a_link_that_came_before_is_not_followed() {
    for target in ["../outside", "."] {
        let world = World::new();
        let bytes = sent()
            .link("a", target)
            .file("a/new", "bad")
            .file("a/file", "bad")
            .folder("a/folder")
            .link("a/link", "x")
            .file("a/folder/new", "bad")
            .gone("a/file")
            .folder("b")
            .link("b/c", "../../outside")
            .file("b/c/file", "bad")
            .end();
        let told = told(&world.top(), None, &bytes);
        let made = [("a", What::Done), ("b", What::Done), ("b/c", What::Done)];
        for (path, what) in told {
            let made = made.contains(&(path.as_str(), what));
            // That what does not exist is gone is true.
            let gone = (path.as_str(), what) == ("a/file", What::Done);
            let refused = what == What::Refused(Errno::NOTDIR.raw_os_error());
            assert!(made || gone || refused, "{path}: {what:?}");
        }
        world.is_kept();
    }
}

#[test]
fn the_folder_itself_may_become_a_link_and_is_not_followed() {
    let world = World::new();
    let bytes = sent()
        .link("", "outside")
        .file("file", "bad")
        .folder("")
        .file("file", "x")
        .end();
    let told = told(&world.top(), None, &bytes);
    let expected = [
        ("".to_owned(), What::Done),
        refused("file", Errno::NOTDIR),
        ("".to_owned(), What::Done),
        ("file".to_owned(), What::Done),
    ];
    assert_eq!(told, expected);
    world.is_kept();
}

#[test]
fn a_folder_that_became_a_link_gets_no_permissions() {
    let world = World::new();
    let bytes = sent().folder("d").link("d", "../outside").end();
    let told = told(&world.top(), None, &bytes);
    assert_eq!(
        told,
        [done(&["d", "d"]), vec![refused("d", Errno::NOTDIR)]].concat()
    );
    world.is_kept();
}

#[test]
fn nothing_is_removed_where_nobody_said_what_was_there() {
    let world = World::new();
    fs::write(world.top().join("file"), "kept").unwrap();
    let told = told(&world.top(), None, &sent().gone("file").gone("").end());
    assert_eq!(
        told,
        [refused("file", Errno::INVAL), refused("", Errno::INVAL)]
    );
    assert_eq!(fs::read(world.top().join("file")).unwrap(), b"kept");
}

#[test]
fn an_entry_that_comes_twice_is_a_conflict_where_it_was_said_what_is_there() {
    let world = World::new();
    let before = listing(&world.top());
    let bytes = sent().file("a", "one").file("a", "other").gone("a").end();
    let told_twice = told(&world.top(), Some(before), &bytes);
    let conflict = ("a".to_owned(), What::Conflict);
    assert_eq!(
        told_twice,
        [("a".to_owned(), What::Done), conflict.clone(), conflict]
    );
    assert_eq!(fs::read(world.top().join("a")).unwrap(), b"one");
    assert_eq!(told(&world.top(), None, &bytes)[..2], done(&["a", "a"]));
    assert_eq!(fs::read(world.top().join("a")).unwrap(), b"other");
}

#[test]
fn devices_and_pipes_are_left_alone() {
    let world = World::new();
    let fifo = world.top().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
    for before in [None, Some(listing(&world.top()))] {
        let bytes = sent()
            .file("fifo", "x")
            .link("fifo", "x")
            .folder("fifo")
            .gone("fifo")
            .end();
        let told = told(&world.top(), before, &bytes);
        assert_eq!(told, vec![refused("fifo", Errno::OPNOTSUPP); 4]);
        assert_eq!(Tree::of(&fifo), Tree::Other);
    }
}

#[test]
fn no_permission_but_the_plain_ones_travels() {
    let world = World::new();
    for mode in [0o7777, 0o4755, 0o100_2755, u32::MAX] {
        let of = |path: &str, kind| Entry {
            mode,
            ..Entry::bare(path.as_bytes(), kind)
        };
        let bytes = sent()
            .entry_as(&of("d", Kind::Folder))
            .entry_as(&of("f", Kind::File { size: 0 }));
        let bytes = [bytes.cut(), 0_u32.to_le_bytes().to_vec(), sent().end()].concat();
        assert_eq!(told(&world.top(), None, &bytes), done(&["d", "f"]));
        for path in ["d", "f"] {
            let found = fs::metadata(world.top().join(path)).unwrap();
            assert_eq!(found.mode() & 0o7777, mode & 0o777, "{path}");
        }
    }
}

#[test]
fn times_out_of_range_are_as_near_as_can_be() {
    let world = World::new();
    // The last two mean `now` and `as it is` to the kernel.
    for modified in [
        (i64::MAX, u32::MAX),
        (i64::MIN, 0),
        (5, 1_000_000_000),
        (5, 0x3fff_ffff),
        (5, 0x3fff_fffe),
    ] {
        let of = |path: &str, kind| Entry {
            modified,
            mode: 0o700,
            ..Entry::bare(path.as_bytes(), kind)
        };
        let bytes = sent()
            .entry_as(&of("d", Kind::Folder))
            .entry_as(&of("f", Kind::File { size: 0 }));
        let bytes = [bytes.cut(), 0_u32.to_le_bytes().to_vec(), sent().end()].concat();
        assert_eq!(told(&world.top(), None, &bytes), done(&["d", "f"]));
        if modified.0 == 5 {
            for path in ["d", "f"] {
                let found = fs::metadata(world.top().join(path)).unwrap();
                assert_eq!((found.mtime(), found.mtime_nsec()), (5, 999_999_999));
            }
        }
    }
}

#[test]
fn a_stream_that_is_cut_leaves_nothing_half() {
    let world = World::new();
    fs::write(world.top().join("old"), "kept").unwrap();
    let whole = sent()
        .folder("d")
        .file("old", "replaced")
        .file("d/new", "new")
        .link("l", "x")
        .end();
    for at in 0..whole.len() {
        let (_, ended) = unpacked(&world.top(), None, &whole[..at]);
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        for folder in ["", "d"] {
            for entry in fs::read_dir(world.top().join(folder)).into_iter().flatten() {
                let name = entry.unwrap().file_name();
                assert!(
                    !name.to_string_lossy().starts_with(".bailiwick"),
                    "at {at}: {name:?}"
                );
            }
        }
        let old = fs::read(world.top().join("old")).unwrap();
        assert!(old == b"kept" || old == b"replaced");
        assert!(
            fs::read(world.top().join("d/new")).is_ok_and(|new| new == b"new")
                || !world.top().join("d/new").exists()
        );
    }
    world.is_kept();
}

#[test]
fn a_size_that_lies_changes_nothing() {
    let world = World::new();
    for size in [0, 1, u64::MAX] {
        let file = Entry {
            mode: 0o600,
            ..Entry::bare(b"f", Kind::File { size })
        };
        let part = [3_u32.to_le_bytes().as_slice(), b"abc", &[0; 4]].concat();
        let bytes = [sent().entry_as(&file).cut(), part, sent().end()].concat();
        assert_eq!(told(&world.top(), None, &bytes), done(&["f"]));
        assert_eq!(fs::read(world.top().join("f")).unwrap(), b"abc");
    }
}

#[test]
fn folders_are_only_kept_in_mind_as_long_as_there_is_room() {
    let world = World::new();
    let bytes = (0..100).fold(sent(), |sent, _| sent.folder("d")).end();
    let mut unpacker = Unpacker::new(&world.top(), None).unwrap();
    unpacker.room = Room(1000);
    let mut told = 0;
    let ended = unpacker.run(&mut Reader::new(bytes.as_slice()), |_| {
        told += 1;
        Ok(())
    });
    assert!(ended.unwrap_err().to_string().contains("more files"));
    assert!((1..10).contains(&told), "{told}");
}

#[test]
fn a_hidden_place_of_ours_is_no_way_out() {
    let world = World::new();
    let process = std::process::id();
    // What the next files are made as is known: links that lead out take their places.
    let planted = (1..20).fold(sent(), |sent, at| {
        sent.link(&format!(".bailiwick-{process}-{at}"), "../outside/file")
    });
    let bytes = planted
        .file("f", "x")
        .file("f", "y")
        .link("f", "z")
        .folder("f")
        .end();
    told(&world.top(), None, &bytes);
    world.is_kept();
    assert!(world.top().join("f").is_dir());
}

/// Swaps a folder for a link that leads out, and back, while entries below it are unpacked.
#[test]
fn a_folder_that_is_swapped_for_a_link_leads_nowhere() {
    let world = World::new();
    let (folder, link) = (world.top().join("d"), world.top().join("l"));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../outside", &link).unwrap();
    let bytes = (0..2000).fold(sent(), |sent, at| match at % 5 {
        0 => sent.folder(&format!("d/x{at}")),
        1 => sent.link("d/folder", "x"),
        2 => sent.folder("other"),
        3 => sent.folder("d/folder"),
        _ => sent.file("d/file", "bad"),
    });
    let (bytes, over) = (bytes.end(), AtomicBool::new(false));
    let (mut swaps, mut refused) = (0, 0);
    std::thread::scope(|threads| {
        let swapping = threads.spawn(|| {
            let mut swaps = 0;
            while !over.load(Ordering::Relaxed) && swaps < 10_000_000 {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                swaps += 1;
            }
            swaps
        });
        let mut rounds = 0;
        // On a busy machine the two need not meet in the first.
        while rounds < 3 || (refused == 0 && !swapping.is_finished()) {
            let told = told(&world.top(), None, &bytes);
            refused += told.iter().filter(|(_, what)| *what != What::Done).count();
            rounds += 1;
        }
        over.store(true, Ordering::Relaxed);
        swaps = swapping.join().unwrap();
    });
    world.is_kept();
    assert!(
        swaps > 0 && refused > 0,
        "there was no race: {swaps} swaps, {refused} refused"
    );
}
